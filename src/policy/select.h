// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "policy/decision.h"
#include "policy/experience.h"
#include "policy/installed.h"
#include "policy/profile.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

/// What only the caller knows. Backends go by the consumer's names or by ours, in lower case.
struct SelectRequest {
    std::optional<std::vector<std::string>> built = {};  ///< backends compiled in; absent: any
    std::vector<std::string> variants = {};              ///< names of those that are installed
    ToldBuild installed = {};                 ///< what is known of the build that is installed
    std::vector<std::string> deny = {};       ///< backends or GPU ids never to use
    std::vector<std::string> require = {};    ///< predicates that must hold
    std::optional<std::string> backend = {};  ///< forced; "auto" is the same as absent
    std::optional<bool> strict = {};          ///< absent: as the profile says
    std::optional<Bytes> min_memory = {};     ///< per GPU, of `allocatable`
    std::vector<std::string> prefer = {};     ///< GPU backends before all others
    std::optional<std::vector<std::string>> only = {};  ///< backends; absent: any
    std::optional<std::vector<std::string>> gpus = {};  ///< ids; absent: any
    /// The caller's own variables, by name; those that choose or hide GPUs count.
    std::map<std::string, std::string> environment = {};
    bool any_vendor = false;  ///< the profile's vendor rules are no more than an order
    std::optional<std::string> platform = {};           ///< of another machine: "darwin-arm64"
    std::optional<std::vector<std::string>> fake = {};  ///< backends of GPUs to make up
    std::optional<Rank> rank = {};                      ///< absent: as the profile says
    bool require_verified = false;                      ///< a dispatch was checked on it, and right
    bool forbid_fake = false;                           ///< making some up is an error
    bool include_rejected = true;                       ///< among the decision's candidates
    bool explain = false;                               ///< the bus is to carry the candidates
    bool operator==(const SelectRequest&) const = default;
};

/// A request from its named values (docs/consumers.md, "The request"); null is an empty one.
/// Errors: InvalidRequest, with the key at fault, for an unknown key, a wrong type or an impossible
/// value.
Result<SelectRequest> select_request_from(const Value& object);

/// "none" and "off" as a backend: no GPU, whatever there is.
bool is_switched_off(const SelectRequest& request);

/// Whether the answer is the same on every machine: GPUs are switched off or made up, or the
/// platform is another one that the profile knows.
bool rests_on_profile_alone(const Profile& profile, const SelectRequest& request);

/// The choice, and every candidate with its verdict. Pure: the same inputs give the same answer
/// whatever their order.
///
/// Only what is known counts: a candidate whose verdict is unknown is never chosen. What the
/// consumer reported as failed is rejected with `reported-failed`. Errors:
/// InvalidRequest, when the request forces a backend that the profile does not know and refuses,
/// has a word that is no backend or GPU id, or makes GPUs up and forbids it; UnknownDevice, when it
/// asks for a GPU that is not there.
///
/// `product` is what can be installed of the consumer. The request's variants are its;
/// InvalidRequest where it names some and there is no product, or not such a variant on this
/// platform. Where the request says nothing of the build, a backend is rejected on a GPU that none
/// of its variants for that backend runs on.
Result<Decision> select(const Profile& profile,
                        const SelectRequest& request,
                        const Report& report,
                        const Experience& experience = {},
                        const Manifest* product = nullptr);

/// What keeps a consumer from a backend on a GPU whichever build of it there is, by our name of the
/// backend and by the GPU's id. What nobody knows keeps it from nothing.
using Refusals = std::map<std::string, std::map<std::string, std::vector<Reason>>, std::less<>>;

/// A backend by our name, and the id of a GPU.
struct BackendOnGpu {
    std::string backend = {};
    std::string gpu = {};
    /// Accepted for what the consumer brings: what the host's libraries leave open is none of its.
    bool is_brought = false;
};

/// What a consumer's selection says of its builds.
struct SelectionView {
    Refusals refusals = {};
    /// What select() takes, then what it takes without that, and so on.
    std::vector<BackendOnGpu> order = {};
};
/// `refusals` are those of the profile and of the caller's environment alone, `order` is that of
/// the whole question; empty where that is an error.
SelectionView selection_view(const Profile& profile,
                             const SelectRequest& request,
                             const Report& report,
                             const Experience& experience = {},
                             const Manifest* product = nullptr);

}  // namespace gpuprobe::inline policy
