// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "policy/known_words.h"
#include "policy/term.h"
#include "report/api_table.h"

namespace gpuprobe::inline policy {

/// Whether the CPU is the last choice or never used.
enum class CpuPolicy { Last, Forbid };
constexpr std::array<EnumName<CpuPolicy>, 2> names_of(CpuPolicy) {
    return {{{CpuPolicy::Last, "last"}, {CpuPolicy::Forbid, "forbid"}}};
}

/// When an integrated GPU is used: only if there is no discrete GPU, always, or never.
enum class IntegratedPolicy { Fallback, Always, Never };
constexpr std::array<EnumName<IntegratedPolicy>, 3> names_of(IntegratedPolicy) {
    return {{{IntegratedPolicy::Fallback, "fallback"},
             {IntegratedPolicy::Always, "always"},
             {IntegratedPolicy::Never, "never"}}};
}

/// The effect of a request for a backend that the application does not have or does not know.
enum class UnknownRequest { Refuse, Auto };
constexpr std::array<EnumName<UnknownRequest>, 2> names_of(UnknownRequest) {
    return {{{UnknownRequest::Refuse, "refuse"}, {UnknownRequest::Auto, "auto"}}};
}

/// The effect of a request for a backend that cannot be used on this machine.
enum class UnavailableRequest { Fail, Auto };
constexpr std::array<EnumName<UnavailableRequest>, 2> names_of(UnavailableRequest) {
    return {{{UnavailableRequest::Fail, "fail"}, {UnavailableRequest::Auto, "auto"}}};
}

/// The sort order of candidates: as documented, or by measured speed.
enum class Rank { Documented, Measured };
constexpr std::array<EnumName<Rank>, 2> names_of(Rank) {
    return {{{Rank::Documented, "documented"}, {Rank::Measured, "measured"}}};
}

/// The primary sort key if several GPUs could be chosen: the better backend or the better GPU.
enum class ChoiceOrder { Backends, Gpus };
constexpr std::array<EnumName<ChoiceOrder>, 2> names_of(ChoiceOrder) {
    return {{{ChoiceOrder::Backends, "backends"}, {ChoiceOrder::Gpus, "gpus"}}};
}

/// The number of equivalent GPUs that the program uses.
enum class GpuCount { All, One };
constexpr std::array<EnumName<GpuCount>, 2> names_of(GpuCount) {
    return {{{GpuCount::All, "all"}, {GpuCount::One, "one"}}};
}

/// Maps variables to templates. A rule applies completely or not at all: every fact in its
/// templates must be known (policy/gpu_selection.h), and no earlier rule may have set one of its
/// variables.
using EnvironmentRule = std::map<std::string, std::string>;

/// Maps a value (a template) to the predicates that must hold if the value is the answer.
using AnswerRule = std::map<std::string, std::vector<Predicate>>;

/// The key in `Profile::floors` that applies to every GPU backend.
constexpr std::string_view kAnyBackend = "*";

/// The key in `Profile::vendors` that applies to every vendor without an entry.
constexpr std::string_view kAnyVendor = "*";

/// An application's policy as data: `selection` in the application's data file
/// (policy/application_set.h). Schema: data/schema/application.schema.json; meaning:
/// docs/data-files.md.
struct Profile {
    std::string name = {};
    std::string description = {};
    std::optional<Value> source = {};  ///< origin of the profile's facts; no decision depends on it
    std::optional<std::string> issued = {};  ///< like Manifest::issued and Manifest::expires
    std::optional<std::string> expires = {};
    std::string path = {};  ///< path of the data file; empty if built in
    /// in order of preference; if `cpu` is present, it is last
    std::vector<std::string> backends = {};
    /// Maps a vendor to the backends that its GPUs may use, in order of preference. If the map is
    /// empty, GPUs from every vendor may use every backend.
    std::map<std::string, std::vector<std::string>> vendors = {};
    CpuPolicy cpu = CpuPolicy::Last;
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    bool strict = false;
    /// Maps gpuprobe's name for a backend to the application's name.
    std::map<std::string, std::string> translate = {};
    /// Maps gpuprobe's name for a backend to the rules for the program's environment.
    std::map<std::string, std::vector<EnvironmentRule>> environment = {};
    /// Variables that the program reads, and readers (knowledge/selectors.h) whose variables it
    /// reads. If `reads` is absent, the program reads the variables of the libraries below its
    /// backends and the variables in `environment`.
    std::optional<std::vector<std::string>> reads = {};
    /// Variables that the program does not read but forwards to a container or child.
    std::vector<std::string> forwards = {};
    /// Maps a backend to predicates that must hold.
    std::map<std::string, std::vector<Predicate>> floors = {};
    /// Libraries that the application bundles, so that the host does not have to provide them. A
    /// backend's word ("rocm") means all user-space libraries of the API; other words name single
    /// libraries ("libcudart").
    std::vector<std::string> bundles = {};
    /// Exit statuses with which the program reports that it could not use the backend. `gpuprobectl
    /// run --fallback` then tries the next candidate.
    std::vector<int> failed_statuses = {};
    /// Maps a backend to predicates; an integrated GPU counts as discrete for that backend if one
    /// of the predicates holds.
    std::map<std::string, std::vector<Predicate>> as_discrete = {};
    /// Maps a backend to predicates; candidates for which all predicates hold are chosen first.
    std::map<std::string, std::vector<Predicate>> prefers = {};
    /// Maps each of the program's own variables to the values, separated by `|`, that make the
    /// program use integrated GPUs even if the policy is "never".
    std::map<std::string, std::string> integrated_by = {};
    /// Maps a word to gpuprobe's names for the backends that the word requests. If `requests` is
    /// absent, every backend in the profile can be requested by its names.
    std::optional<std::map<std::string, std::vector<std::string>>> requests = {};
    std::optional<UnknownRequest> unknown_request = {};          ///< "refuse" if absent
    std::optional<UnavailableRequest> unavailable_request = {};  ///< "fail" if absent
    std::optional<Rank> rank = {};                               ///< "documented" if absent
    std::optional<ChoiceOrder> order = {};                       ///< "backends" if absent
    std::optional<GpuCount> gpus = {};                           ///< "all" if absent
    /// Maps another platform to the backends that the application has on that platform, by the
    /// application's names and in order of preference.
    std::map<std::string, std::vector<std::string>> platforms = {};
    /// Maps a name to rules; the first rule whose predicates all hold supplies the value.
    std::map<std::string, std::vector<AnswerRule>> answers = {};
    /// Maps a situation to the template of a message (policy/profile_texts.h).
    std::map<std::string, std::string> messages = {};
    bool operator==(const Profile&) const = default;
};
RECORD_MEMBERS(Profile,
               name,
               description,
               source,
               issued,
               expires,
               backends,
               vendors,
               cpu,
               integrated,
               strict,
               translate,
               environment,
               reads,
               forwards,
               floors,
               bundles,
               failed_statuses,
               as_discrete,
               prefers,
               integrated_by,
               requests,
               unknown_request,
               unavailable_request,
               rank,
               order,
               gpus,
               platforms,
               answers,
               messages)

/// Reads a selection with the name, description and source of its application, and returns the
/// first problem: an unknown member, backend or fact, an exceeded limit of docs/data-files.md, or a
/// contradiction. With UnknownWords::Refuse, a word that isn't a known value of its fact is also a
/// problem.
ReadProblem read_profile(const Value& value, Profile& out, UnknownWords unknown);

/// Whether the word is a backend of inference runtimes that gpuprobe never selects, because the
/// backend exists only on other systems or has a meaning only through a profile's `translate`. A
/// caller may still list the backend as compiled in.
bool is_foreign_backend(std::string_view word);

}  // namespace gpuprobe::inline policy
