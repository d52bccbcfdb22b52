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
#include "base/record_type.h"
#include "engine/engine.h"
#include "explain/doctor.h"

/// The methods of the interface org.gpuprobe, with their parameters and answers. The daemon serves
/// them on its socket and on D-Bus; `gpuprobectl call` runs them in its own process.
namespace gpuprobe::inline calls {

/// Privileged actions. Their polkit names have the prefix "org.gpuprobe."; data/polkit/ defines who
/// is allowed to do what by default.
enum class Action { AllowWake, MeasureInUse, GetIdentifiers, SetOverride, ClearQuarantine };
constexpr std::array<EnumName<Action>, 5> names_of(Action) {
    return {{{Action::AllowWake, "allow-wake"},
             {Action::MeasureInUse, "measure-in-use"},
             {Action::GetIdentifiers, "get-identifiers"},
             {Action::SetOverride, "set-override"},
             {Action::ClearQuarantine, "clear-quarantine"}}};
}

/// The name of the interface, and the prefix of its methods and errors.
inline constexpr std::string_view kInterface = "org.gpuprobe";

/// A method call and its caller.
struct MethodCall {
    std::string method = {};  ///< "org.gpuprobe.Select"
    Value parameters = Value{Value::Object{}};
    bool wants_more = false;  ///< also wants the answers before the last one (Varlink's "more")
    /// Candidates and their reasons are in every answer. If false, as on D-Bus, only in answers to
    /// requests with "explain"; NoMatch is then an error only without it.
    bool always_explains = true;
    bool wants_value = false;  ///< answers have a value instead of a text
    bool wants_words = true;   ///< reasons have words for people
    uid_t uid = 0;
    /// All groups of the caller; nullopt if unknown.
    std::optional<std::vector<std::uint32_t>> groups = {};
};

/// The machine that a call is about, as the caller may see it. Valid only during answer().
struct MachineView {
    engine::Engine& engine;
    const FileSystem& files;
    const Report& seen;
    /// `seen` as one line of JSON.
    std::function<const std::string&()> seen_json;
    /// The doctor's findings in `seen`, for the fixes of reasons.
    std::function<const std::vector<Finding>&()> findings;
    /// The surroundings in a capture; nullopt if there are none, or on a live machine.
    std::optional<Surroundings> captured = {};
    /// The process ends after the answer, so nothing is to be probed in the background.
    bool ends_after = false;
};

/// An answer or an error.
struct MethodAnswer {
    /// "org.gpuprobe.NoMatch", "org.varlink.service.MethodNotFound" …; empty if there is no error.
    std::string error = {};
    std::string document = "{}";  ///< a JSON object on one line; not for calls that want a value
    bool continues = false;       ///< another answer follows
    Value value = {};             ///< the object, for calls that want a value
    std::string message = {};     ///< of an error, for people
};
/// Called with each answer of a method.
using HearAnswer = std::function<void(const MethodAnswer&)>;

/// How long a server may send the same answer again.
enum class Keeping {
    Never,
    UntilReport,  ///< until the report changes, to all callers who see the same report
    ASecond,      ///< for a second, to the same caller
};
constexpr std::array<EnumName<Keeping>, 3> names_of(Keeping) {
    return {{{Keeping::Never, "never"},
             {Keeping::UntilReport, "until-report"},
             {Keeping::ASecond, "a-second"}}};
}

/// How a server has to treat a method.
struct MethodTraits {
    Keeping keeping = Keeping::Never;
    bool is_costly = false;          ///< writes to the disk or runs probes
    bool waits = false;              ///< for a reading of the GPUs' memory
    bool reports_progress = false;   ///< answers with its progress before the last answer
    bool subscribes = false;         ///< answered at each change of the report; needs wants_more
    bool is_of_now = false;          ///< the server must call Engine::renew() first
    std::vector<Action> needs = {};  ///< the privileged actions that the caller performs
    /// Further actions, which only some calls perform. traits_of() adds those of a call to `needs`.
    std::vector<Action> may_need = {};
};
/// The traits of the called method; nullopt if it does not exist. `seen`: the report as the caller
/// may see it.
std::optional<MethodTraits> traits_of(const MethodCall& call, const Report& seen);

/// Runs `call` and passes its answers to `heard`: during this function, or later and possibly
/// several times if drivers have to be probed. The server must have authorized the caller before.
void answer(const MethodCall& call, const MachineView& machine, const HearAnswer& heard);

/// The document for subscribers: {"generation","state"}.
std::string subscription_document(const Report& report);

/// The answer for one of gpuprobe's own errors.
MethodAnswer refusal_of(const Error& error);

/// How a method is spelled on D-Bus. `in` and `out` are arguments: "application:s request:a{sv}".
///
/// An argument of `in` is the parameter of that name. If there is no such parameter, it is a
/// dictionary of parameters; of one called "options", unknown keys are ignored.
/// An argument of `out` is the member of that name in the answer. "json" is the whole answer as
/// JSON, in a text or a sealed memory file, and "answer" the whole as a dictionary.
struct BusForm {
    std::string_view member = {};  ///< "SelectBackend"
    std::string_view in = {};
    std::string_view out = {};
    /// Members of the answer that are left out when they are empty.
    std::string_view optional = {};
    /// Members of the answer that are left out unless the request has "explain".
    std::string_view explained = {};
    /// A method of a GPU's object, which is the parameter `gpu`.
    bool is_of_gpu = false;
};

/// A method as D-Bus serves it.
struct BusMethodRow {
    std::string method = {};  ///< "org.gpuprobe.Select"
    BusForm form = {};
    std::vector<TypedMember> (*parameters)(TypeTable& types) = nullptr;
    std::vector<TypedMember> (*result)(TypeTable& types) = nullptr;
    Keeping keeping = Keeping::Never;
    bool reports_progress = false;
};
std::vector<BusMethodRow> bus_methods();

/// A method as its callers see it.
struct MethodTypes {
    std::string_view name = {};
    std::string_view about = {};  ///< one or two sentences
    MethodTraits traits = {};
    std::vector<BusForm> bus = {};
    /// Errors that are due to the method's purpose. Any method may also fail because of a limit, a
    /// missing permission or malformed parameters.
    std::vector<ErrorCode> errors = {};
    std::string_view parameter_record = {};  ///< name of the struct
    std::string_view result_record = {};     ///< name of the struct
    std::vector<TypedMember> parameters = {};
    std::vector<TypedMember> result = {};
};
/// The methods of an interface; `types` gets the definitions that they refer to.
std::vector<MethodTypes> methods_of(std::string_view interface, TypeTable& types);

/// The Varlink description of an interface; nullopt if it is not served.
std::optional<std::string> interface_description(std::string_view interface);

}  // namespace gpuprobe::inline calls
