// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "policy/build_needs.h"
#include "policy/decision.h"
#include "policy/profile.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

struct RecommendRequest;

/// A failure of a backend that an application reported.
struct ReportedFailure {
    std::string backend = {};  ///< gpuprobe's or the application's name for the backend
    /// Id of the GPU; nullopt if the failure does not depend on the GPU.
    std::optional<std::string> gpu = {};
    std::string detail = {};          ///< the application's explanation for users
    std::optional<WallTime> at = {};  ///< time at which the application reported the failure
    bool operator==(const ReportedFailure&) const = default;
};

/// The reported failures that still count for the calling application. The caller has already
/// removed failures that have expired, whose fingerprint no longer matches, or that do not apply to
/// this application.
struct Experience {
    std::vector<ReportedFailure> failures = {};
    bool operator==(const Experience&) const = default;
};

/// The caller's request for a backend. Backends can be given by the application's names or by
/// gpuprobe's names, in lower case.
struct SelectRequest {
    /// backends compiled in; if absent, any backend
    std::optional<std::vector<std::string>> built = {};
    std::vector<std::string> variants = {};  ///< names of the installed variants
    DescribedBuild installed = {};           ///< known facts about the installed build
    /// Whether the user compiles the build, so that no published variant is assumed.
    bool own_build = false;
    std::vector<std::string> deny = {};       ///< backends or GPU ids that must not be used
    std::vector<std::string> require = {};    ///< predicates that must hold
    std::optional<std::string> backend = {};  ///< the only permitted backend; "auto" means absent
    /// whether the request is strict; if absent, the profile decides
    std::optional<bool> strict = {};
    std::optional<Bytes> min_memory = {};  ///< minimum memory per GPU, compared with `allocatable`
    std::vector<std::string> prefer = {};  ///< preferred GPU backends, best first
    /// permitted backends; if absent, any backend is permitted
    std::optional<std::vector<std::string>> only = {};
    /// ids of permitted GPUs; if absent, all GPUs are permitted
    std::optional<std::vector<std::string>> gpus = {};
    /// The caller's environment variables. Only variables that select or hide GPUs matter.
    std::map<std::string, std::string> environment = {};
    std::vector<std::string> assume = {};  ///< facts to assume if they are unknown: "glibc=2.39"
    bool any_vendor = false;  ///< whether the profile's vendor rules affect only the order
    std::optional<std::string> platform = {};  ///< another machine's platform: "darwin-arm64"
    std::optional<std::vector<std::string>> fake = {};  ///< backends of GPUs to simulate
    std::optional<Rank> rank = {};  ///< order of candidates; if absent, the profile decides
    /// Whether a GPU may be used only if a test computation on this GPU gave a correct result.
    bool require_verified = false;
    bool forbid_fake = false;  ///< whether a simulated GPU is an error
    /// Whether the decision's candidates include rejected candidates.
    bool include_rejected = true;
    bool explain = false;  ///< whether answers on the bus contain the candidates
    bool operator==(const SelectRequest&) const = default;
};

/// Reads a request from its named values (docs/applications.md, "The request"); null means an empty
/// request. Errors: InvalidRequest, with the wrong key, for an unknown key, a wrong type or an
/// impossible value.
Result<SelectRequest> select_request_from(const Value& object);

/// Whether the requested backend is "none" or "off", which disables GPUs.
bool is_switched_off(const SelectRequest& request);

/// Whether the answer is the same on every machine, because GPUs are switched off or simulated, or
/// because the request is for another platform in the profile.
bool rests_on_profile_alone(const Profile& profile, const SelectRequest& request);

/// Chooses a backend and gives a verdict on every candidate. Deterministic: the order of the inputs
/// does not matter.
///
/// Only known facts count: a candidate with an unknown verdict is never chosen. Backends that the
/// application reported as failed are rejected with `reported-failed`. Errors: InvalidRequest if
/// the request forces a backend that the profile does not know and therefore refuses, contains a
/// word that is neither a backend nor a GPU id, or both requests and forbids simulated GPUs;
/// UnknownDevice if the request names a GPU that does not exist.
///
/// `manifest` describes the installable variants of the application; the names of variants in the
/// request refer to these variants. InvalidRequest if the request names variants but there is no
/// manifest, or the manifest has no such variant on this platform.
///
/// If the request does not describe the build, the decision is for the variant that recommend()
/// chooses under `variants` (an administrator's rule, or null); `assumes` names this variant. A
/// backend is rejected on a GPU if no usable variant can use the backend on this GPU. If no variant
/// is usable, the decision is for a build that the user compiles, with the warning
/// `no-published-variant`.
Result<Decision> select(const Profile& profile,
                        const SelectRequest& request,
                        const Report& report,
                        const Experience& experience = {},
                        const Manifest* manifest = nullptr,
                        const RecommendRequest* variants = nullptr);

/// Maps gpuprobe's name for a backend and the id of a GPU to reasons about this candidate. The id
/// is empty for the CPU.
using Refusals = std::map<std::string, std::map<std::string, std::vector<Reason>>, std::less<>>;

/// A backend (gpuprobe's name) and the id of a GPU or of another accelerator.
struct BackendOnGpu {
    std::string backend = {};
    std::string gpu = {};
    /// Whether the choice was accepted because of bundled libraries, so that missing host libraries
    /// do not matter.
    bool is_bundled = false;
};

/// The part of a selection's result that is needed to choose a variant.
struct SelectionView {
    /// Reasons why an application cannot use a backend on a GPU, no matter which build is
    /// installed.
    Refusals refusals = {};
    /// Reasons why it is unknown whether a backend works on a GPU.
    Refusals unknown = {};
    /// Choices, best first. select() would make each choice if the previous choices were excluded.
    std::vector<BackendOnGpu> order = {};
};
/// Computes the view. `refusals` and `unknown` depend only on the profile and the caller's
/// environment. `order` depends on the whole request, and is empty if the request is invalid.
SelectionView selection_view(const Profile& profile,
                             const SelectRequest& request,
                             const Report& report,
                             const Experience& experience = {});

}  // namespace gpuprobe::inline policy
