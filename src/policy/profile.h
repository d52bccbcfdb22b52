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

/// Whether an integrated GPU is used if there is no discrete GPU, always, or never.
enum class IntegratedPolicy { Fallback, Always, Never };
constexpr std::array<EnumName<IntegratedPolicy>, 3> names_of(IntegratedPolicy) {
    return {{{IntegratedPolicy::Fallback, "fallback"},
             {IntegratedPolicy::Always, "always"},
             {IntegratedPolicy::Never, "never"}}};
}

/// The effect of a request for a backend that the application does not have or know.
enum class UnknownRequest { Refuse, Auto };
constexpr std::array<EnumName<UnknownRequest>, 2> names_of(UnknownRequest) {
    return {{{UnknownRequest::Refuse, "refuse"}, {UnknownRequest::Auto, "auto"}}};
}

/// The effect of a request for a backend that can't be used here.
enum class UnavailableRequest { Fail, Auto };
constexpr std::array<EnumName<UnavailableRequest>, 2> names_of(UnavailableRequest) {
    return {{{UnavailableRequest::Fail, "fail"}, {UnavailableRequest::Auto, "auto"}}};
}

/// The sort order of candidates: as documented or as measured.
enum class Rank { Documented, Measured };
constexpr std::array<EnumName<Rank>, 2> names_of(Rank) {
    return {{{Rank::Documented, "documented"}, {Rank::Measured, "measured"}}};
}

/// The primary sort key if several GPUs could be chosen: the better backend or the better GPU.
enum class ChoiceOrder { Backends, Gpus };
constexpr std::array<EnumName<ChoiceOrder>, 2> names_of(ChoiceOrder) {
    return {{{ChoiceOrder::Backends, "backends"}, {ChoiceOrder::Gpus, "gpus"}}};
}

/// Maps variables to templates. A rule applies completely or not at all: every fact in its
/// templates must be known (policy/gpu_selection.h), and no earlier rule may have set one of its
/// variables.
using EnvironmentRule = std::map<std::string, std::string>;

/// Maps one value (a template) to the predicates under which it is the answer.
using AnswerRule = std::map<std::string, std::vector<Predicate>>;

/// The key in `Profile::floors` for every GPU backend.
constexpr std::string_view kAnyBackend = "*";

/// The key in `Profile::vendors` for every vendor without an entry.
constexpr std::string_view kAnyVendor = "*";

/// An application's policy as data: `selection` in its data file (policy/application_set.h).
/// Schema: data/schema/profile.schema.json; meaning: docs/data-files.md.
struct Profile {
    int schema = 1;
    std::string name = {};
    std::string description = {};
    std::optional<Value> source = {};        ///< origin of its facts; no decision depends on it
    std::optional<std::string> issued = {};  ///< like Manifest::issued and Manifest::expires
    std::optional<std::string> expires = {};
    std::vector<std::string> backends = {};  ///< in order of preference; cpu is last, if present
    /// Maps a vendor to its permitted backends, in order for one GPU. Empty: every vendor may use
    /// every backend.
    std::map<std::string, std::vector<std::string>> vendors = {};
    CpuPolicy cpu = CpuPolicy::Last;
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    bool strict = false;
    std::map<std::string, std::string> translate = {};  ///< our backend name → the application's
    std::map<std::string, std::vector<EnvironmentRule>> environment = {};  ///< by our backend name
    /// Variables and readers (knowledge/selectors.h) that the program reads. Absent: the variables
    /// of the libraries below its backends, and the variables in `environment`.
    std::optional<std::vector<std::string>> reads = {};
    /// Variables that the program does not read but forwards to a container or child.
    std::vector<std::string> forwards = {};
    /// Maps a backend to predicates that must hold.
    std::map<std::string, std::vector<Predicate>> floors = {};
    /// Libraries that the application bundles, so that the host need not have them: an API's
    /// user-space libraries under its backend's word ("rocm"), or single libraries ("libcudart").
    std::vector<std::string> bundles = {};
    /// Exit statuses with which the program reports that it could not use the backend; `gpuprobectl
    /// run --fallback` then tries the next one.
    std::vector<int> failed_statuses = {};
    /// Maps a backend to predicates; an integrated GPU counts as discrete for that backend if one
    /// of them holds.
    std::map<std::string, std::vector<Predicate>> as_discrete = {};
    /// Maps the program's own variables to values, separated by `|`, with which it uses integrated
    /// GPUs although the policy is "never".
    std::map<std::string, std::string> integrated_by = {};
    /// Maps a word to our backends that it requests. Absent: every backend in the profile, under
    /// its names.
    std::optional<std::map<std::string, std::vector<std::string>>> requests = {};
    std::optional<UnknownRequest> unknown_request = {};          ///< absent: refuse
    std::optional<UnavailableRequest> unavailable_request = {};  ///< absent: fail
    std::optional<Rank> rank = {};                               ///< absent: documented
    std::optional<ChoiceOrder> order = {};                       ///< absent: backends
    /// Maps another platform to the application's names of its backends there, in order.
    std::map<std::string, std::vector<std::string>> platforms = {};
    /// Maps a name to rules; the first rule whose predicates all hold supplies the value.
    std::map<std::string, std::vector<AnswerRule>> answers = {};
    std::map<std::string, std::string> messages =
        {};  ///< situation → template (policy/profile_texts.h)
    bool operator==(const Profile&) const = default;
};
RECORD_MEMBERS(Profile,
               schema,
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
               integrated_by,
               requests,
               unknown_request,
               unavailable_request,
               rank,
               order,
               platforms,
               answers,
               messages)

/// Reads a profile and returns the first problem. With UnknownWords::Refuse, words that are none of
/// the known values of a fact are problems too.
ReadProblem read_profile(const Value& root, Profile& out, UnknownWords unknown);
/// Reads a profile. Errors: Malformed with the member at fault, for an unknown member, backend or
/// fact, for an exceeded limit of docs/data-files.md, and for a contradiction.
Result<Profile> profile_from(const Value& root);

/// Whether the word is a backend of inference runtimes that this program never selects, because it
/// exists only on other systems or has a meaning only through a profile's `translate`. A caller may
/// list it as compiled in.
bool is_foreign_backend(std::string_view word);

}  // namespace gpuprobe::inline policy
