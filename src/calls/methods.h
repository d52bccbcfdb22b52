// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "base/record.h"
#include "engine/engine.h"

/// The methods of the interface org.gpuprobe: what each takes, and what it answers. The daemon
/// serves them on its socket, `gpuprobectl call` in its own process.
namespace gpuprobe::inline calls {

/// What not every caller may do. Polkit's names for them begin with "org.gpuprobe."; data/polkit/
/// says who may do what by default.
enum class Action { AllowWake, MeasureInUse, GetIdentifiers, SetOverride, ClearQuarantine };
constexpr std::array<EnumName<Action>, 5> names_of(Action) {
    return {{{Action::AllowWake, "allow-wake"},
             {Action::MeasureInUse, "measure-in-use"},
             {Action::GetIdentifiers, "get-identifiers"},
             {Action::SetOverride, "set-override"},
             {Action::ClearQuarantine, "clear-quarantine"}}};
}

inline constexpr std::string_view kInterface = "org.gpuprobe";

/// A question, and who asks it.
struct MethodCall {
    std::string method = {};  ///< "org.gpuprobe.Select"
    Value parameters = Value{Value::Object{}};
    bool wants_more = false;  ///< answers before the last one too
    uid_t uid = 0;
    std::optional<std::vector<std::uint32_t>> groups = {};  ///< all; nullopt: nobody knows
};

/// The machine that is asked about, as the caller sees it; valid for the call of answer() alone.
struct AskedMachine {
    engine::Engine& engine;
    const FileSystem& files;
    const Report& seen;
    /// The same as one line of JSON.
    std::function<const std::string&()> seen_json;
};

/// An answer, or why there is none.
struct MethodAnswer {
    /// "org.gpuprobe.NoMatch", "org.varlink.service.MethodNotFound" …; empty for an answer.
    std::string error = {};
    std::string document = "{}";  ///< a JSON object on one line
    bool continues = false;       ///< another one follows
};
using HearAnswer = std::function<void(const MethodAnswer&)>;

/// How a method is to be treated by whoever serves it.
struct MethodTraits {
    bool is_kept = false;     ///< the same until the report changes, for all who see the same
    bool is_costly = false;   ///< writes to the disk, or runs probes
    bool waits = false;       ///< for a reading of the GPUs' memory
    bool subscribes = false;  ///< answered with each change of the report; needs wants_more
    bool is_of_now = false;   ///< Engine::renew() goes before it
    std::vector<Action> needs = {};  ///< leave that its callers need
};
/// nullopt for a method that there is not.
std::optional<MethodTraits> traits_of(const MethodCall& call);

/// Leave that callers of a method need; nullopt where that depends on what they give it, and for a
/// method that there is not.
std::optional<std::vector<Action>> needs_of(std::string_view method);

/// Answers `call` by `heard`, within this call or, where drivers are asked, later and more than
/// once. Whether the caller may ask is decided before.
void answer(const MethodCall& call, const AskedMachine& machine, const HearAnswer& heard);

/// What a subscriber is told: {"generation","state"}.
std::string subscription_document(const Report& report);

/// The answer for an error of ours.
MethodAnswer refusal_of(const Error& error);

/// The description of an interface; nullopt for one that is not served.
std::optional<std::string> interface_description(std::string_view interface);

}  // namespace gpuprobe::inline calls
