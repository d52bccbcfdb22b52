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
/// these methods on its socket and on D-Bus; `gpuprobectl call` can also run them in its own
/// process.
namespace gpuprobe::inline calls {

/// Privileged actions. The polkit names of these actions have the prefix "org.gpuprobe.";
/// data/polkit/ defines which users are allowed to perform each action by default.
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
    std::string method = {};  ///< name of the method, such as "org.gpuprobe.Select"
    Value parameters = Value{Value::Object{}};
    /// Whether the caller also wants intermediate answers (Varlink's "more").
    bool wants_more = false;
    /// Whether candidates and their reasons are in every answer. If false, as on D-Bus, candidates
    /// are only in answers to requests with "explain", and NoMatch is an error only for requests
    /// without "explain".
    bool always_explains = true;
    bool wants_value = false;  ///< whether answers contain a Value instead of JSON
    bool wants_words = true;   ///< whether reasons contain messages for users
    uid_t uid = 0;
    /// All groups of the caller; nullopt if unknown.
    std::optional<std::vector<std::uint32_t>> groups = {};
};

/// The machine that a call is about, as the caller may see it. The view is valid only during
/// answer().
struct MachineView {
    engine::Engine& engine;
    const FileSystem& files;
    const Report& seen;
    /// Returns `seen` as one line of JSON.
    std::function<const std::string&()> seen_json;
    /// Returns the doctor's findings in `seen`. The fixes of reasons depend on these findings.
    std::function<const std::vector<Finding>&()> findings;
    /// The environment of the process that made the capture; nullopt if the capture does not
    /// describe this environment, and on a live machine.
    std::optional<Surroundings> captured = {};
    /// Whether the process ends after the answer, so that nothing may be probed in the background.
    bool ends_after = false;
};

/// An answer or an error.
struct MethodAnswer {
    /// "org.gpuprobe.NoMatch", "org.varlink.service.MethodNotFound" …; empty if there is no error.
    std::string error = {};
    std::string document = "{}";  ///< a JSON object on one line; unused if the call wants a value
    bool continues = false;       ///< whether another answer follows
    Value value = {};             ///< the answer's object, if the call wants a value
    std::string message = {};     ///< error message for users
    std::optional<ErrorCode> code = {};  ///< the error; nullopt for errors of org.varlink.service
};
/// Called with each answer of a method.
using HearAnswer = std::function<void(const MethodAnswer&)>;

/// How long a server may cache an answer.
enum class Keeping {
    Never,
    UntilReport,  ///< valid until the report changes, for all callers who see the same report
    ASecond,      ///< valid for a second, for the same caller
};
constexpr std::array<EnumName<Keeping>, 3> names_of(Keeping) {
    return {{{Keeping::Never, "never"},
             {Keeping::UntilReport, "until-report"},
             {Keeping::ASecond, "a-second"}}};
}

/// How a server must treat a method.
struct MethodTraits {
    Keeping keeping = Keeping::Never;
    bool is_costly = false;  ///< whether the method writes to the disk or runs probes
    bool waits = false;  ///< whether the answer waits until the memory of the GPUs has been read
    bool reports_progress = false;  ///< whether intermediate answers report progress
    bool subscribes = false;        ///< whether each change of the report is sent; needs wants_more
    bool is_of_now = false;         ///< whether the server must call Engine::renew() first
    std::vector<Action> needs = {};  ///< the privileged actions that the caller performs
    /// Further actions, which only some calls perform. traits_of() adds to `needs` the actions that
    /// the given call performs.
    std::vector<Action> may_need = {};
};
/// The traits of the called method; nullopt if the method does not exist. `seen` is the report as
/// the caller may see it.
std::optional<MethodTraits> traits_of(const MethodCall& call, const Report& seen);

/// Runs `call` and passes its answers to `heard`. `heard` is called during this function or, if
/// drivers must be probed, later and possibly several times. The server must authorize the caller
/// before it calls this function.
void answer(const MethodCall& call, const MachineView& machine, const HearAnswer& heard);

/// The document that subscribers receive: {"generation","state"}.
std::string subscription_document(const Report& report);

/// Converts an error of gpuprobe to an answer.
MethodAnswer refusal_of(const Error& error);

/// How a method is spelled on D-Bus. `in` and `out` list the arguments, as in "application:s
/// request:a{sv}".
///
/// An argument in `in` is the parameter with the same name. If there is no such parameter, the
/// argument is a dictionary of parameters. If the dictionary is called "options", unknown keys are
/// ignored. An argument in `out` is the member of the answer with the same name. "json" is the
/// whole answer as JSON, in a string or a sealed memory file, and "answer" is the whole answer as a
/// dictionary.
struct BusForm {
    std::string_view member = {};  ///< name on D-Bus, such as "SelectBackend"
    std::string_view in = {};
    std::string_view out = {};
    /// Members of the answer that are left out when they are empty.
    std::string_view optional = {};
    /// Members of the answer that are left out unless the request has "explain".
    std::string_view explained = {};
    /// Whether the method belongs to the D-Bus object of a GPU; that GPU is the parameter `gpu`.
    bool is_of_gpu = false;
};

/// A method as D-Bus serves it.
struct BusMethodRow {
    std::string method = {};  ///< name of the method, such as "org.gpuprobe.Select"
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
    std::string_view about = {};  ///< a description in one or two sentences
    MethodTraits traits = {};
    std::vector<BusForm> bus = {};
    /// Errors that are specific to the method. Any method may also fail because of a limit, a
    /// missing permission or malformed parameters.
    std::vector<ErrorCode> errors = {};
    std::string_view parameter_record = {};  ///< name of the struct
    std::string_view result_record = {};     ///< name of the struct
    std::vector<TypedMember> parameters = {};
    std::vector<TypedMember> result = {};
};
/// The methods of an interface. The function adds to `types` the definitions that the methods refer
/// to.
std::vector<MethodTypes> methods_of(std::string_view interface, TypeTable& types);

/// The Varlink description of an interface; nullopt if gpuprobe does not have this interface.
std::optional<std::string> interface_description(std::string_view interface);

}  // namespace gpuprobe::inline calls
