// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "report/api_table.h"

namespace gpuprobe::inline policy {

enum class CpuPolicy { Last, Forbid };
constexpr std::array<EnumName<CpuPolicy>, 2> names_of(CpuPolicy) {
    return {{{CpuPolicy::Last, "last"}, {CpuPolicy::Forbid, "forbid"}}};
}

enum class IntegratedPolicy { Fallback, Always, Never };
constexpr std::array<EnumName<IntegratedPolicy>, 3> names_of(IntegratedPolicy) {
    return {{{IntegratedPolicy::Fallback, "fallback"},
             {IntegratedPolicy::Always, "always"},
             {IntegratedPolicy::Never, "never"}}};
}

/// What becomes of a request for a backend that this consumer does not have or know.
enum class UnknownRequest { Refuse, Auto };
constexpr std::array<EnumName<UnknownRequest>, 2> names_of(UnknownRequest) {
    return {{{UnknownRequest::Refuse, "refuse"}, {UnknownRequest::Auto, "auto"}}};
}

/// What becomes of a request for a backend that can't be used here.
enum class UnavailableRequest { Fail, Auto };
constexpr std::array<EnumName<UnavailableRequest>, 2> names_of(UnavailableRequest) {
    return {{{UnavailableRequest::Fail, "fail"}, {UnavailableRequest::Auto, "auto"}}};
}

/// What comes first of what could be chosen.
enum class Rank { Documented, Measured };
constexpr std::array<EnumName<Rank>, 2> names_of(Rank) {
    return {{{Rank::Documented, "documented"}, {Rank::Measured, "measured"}}};
}

/// What comes first where several GPUs could be chosen: the better backend, or the better GPU.
enum class ChoiceOrder { Backends, Gpus };
constexpr std::array<EnumName<ChoiceOrder>, 2> names_of(ChoiceOrder) {
    return {{{ChoiceOrder::Backends, "backends"}, {ChoiceOrder::Gpus, "gpus"}}};
}

/// Variable → template. Applies whole or not at all: when every fact that its templates name is
/// known (policy/selector_facts.h) and no earlier rule has set one of its variables.
using EnvironmentRule = std::map<std::string, std::string>;

/// One value (a template) → the predicates under which it is the answer.
using AnswerRule = std::map<std::string, std::vector<std::string>>;

/// The key of `Profile::floors` for every GPU backend.
constexpr std::string_view kAnyBackend = "*";

/// The key of `Profile::vendors` for every vendor that has none of its own.
constexpr std::string_view kAnyVendor = "*";

/// One consumer's policy as data: `selection` of its document (policy/consumer_set.h), schema
/// data/schema/profile.schema.json, meaning docs/consumers.md.
struct Profile {
    int schema = 1;
    std::string name = {};
    std::string description = {};
    std::optional<Value> source = {};        ///< where its facts are from; nothing is decided by it
    std::optional<std::string> issued = {};  ///< as Manifest::issued and ::expires
    std::optional<std::string> expires = {};
    std::vector<std::string> backends = {};  ///< in order of preference; cpu, if any, is last
    /// Vendor → backends it may use, in order for one GPU; empty: every vendor, every backend.
    std::map<std::string, std::vector<std::string>> vendors = {};
    CpuPolicy cpu = CpuPolicy::Last;
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    bool strict = false;
    std::map<std::string, std::string> translate = {};  ///< our backend name → the consumer's
    std::map<std::string, std::vector<EnvironmentRule>> environment = {};  ///< by our backend name
    /// Readers of knowledge/selectors.h and variables that the program looks at; absent: the
    /// libraries below its backends, and what `environment` sets.
    std::optional<std::vector<std::string>> reads = {};
    /// Variables that it does not look at itself and passes on, to a container or a child.
    std::vector<std::string> forwards = {};
    /// Backend → predicates that must hold (policy/predicate.h).
    std::map<std::string, std::vector<std::string>> floors = {};
    /// What the consumer has with it and the host need not have: an API's user-space libraries by
    /// its backend's word ("rocm"), or single libraries ("libcudart").
    std::vector<std::string> brings = {};
    /// Exit statuses by which the program says that it could not use the backend it was to use;
    /// `gpuprobectl run --fallback` then tries the next one.
    std::vector<int> failed_statuses = {};
    /// Backend → predicates: an integrated GPU for which one of them holds counts there as a
    /// discrete one.
    std::map<std::string, std::vector<std::string>> as_discrete = {};
    /// Variable → values, between bars: those of the program's own by which it uses integrated GPUs
    /// although the policy is "never".
    std::map<std::string, std::string> integrated_by = {};
    /// Word → our backends that it asks for; absent: the profile's own, each by its names.
    std::optional<std::map<std::string, std::vector<std::string>>> requests = {};
    std::optional<UnknownRequest> unknown_request = {};          ///< absent: refuse
    std::optional<UnavailableRequest> unavailable_request = {};  ///< absent: fail
    std::optional<Rank> rank = {};                               ///< absent: documented
    std::optional<ChoiceOrder> order = {};                       ///< absent: backends
    /// Another platform → the consumer's names of its backends there, in order.
    std::map<std::string, std::vector<std::string>> platforms = {};
    /// Name → rules; the first whose predicates all hold gives the value.
    std::map<std::string, std::vector<AnswerRule>> answers = {};
    std::map<std::string, std::string> messages = {};  ///< situation → template (policy/messages.h)
    bool operator==(const Profile&) const = default;
};
RECORD_MEMBERS(Profile, schema, name, description, source, issued, expires, backends, vendors, cpu,
               integrated, strict, translate, environment, reads, forwards, floors, brings,
               failed_statuses, as_discrete, integrated_by, requests, unknown_request,
               unavailable_request, rank, order, platforms, answers, messages)

/// A profile from its value. Errors: Malformed with the member at fault, for a member, backend or
/// fact that is not known, for a limit of docs/consumers.md, and for a contradiction.
Result<Profile> profile_from(const Value& root);

/// Whether the word names a backend that inference runtimes have and this program never selects
/// (of another system, or under a name that only a profile's `translate` gives a meaning): a caller
/// may say that it is compiled in.
bool is_foreign_backend(std::string_view word);

}  // namespace gpuprobe::inline policy
