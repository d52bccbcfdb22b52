// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/manifest.h"
#include "policy/term.h"

namespace gpuprobe::inline policy {

/// The APIs that the variant uses to compute if this alternative applies: the APIs in the
/// alternative's predicates; if there are none, the API after which the variant's family is named
/// ("cuda", "rocm"). The result is empty if neither the predicates nor the family name an API.
std::vector<Api> apis_used(const Variant& variant, const Conjunction& alternative);

/// A reason `no-permission` for each inaccessible device node that the variant needs on the GPU if
/// the alternative applies; empty if one of the variant's APIs works without access to these nodes.
std::vector<Reason> closed_nodes(const Variant& variant,
                                 const Conjunction& alternative,
                                 const Facts& gpu);

/// Whether the list isn't empty, and every API in the list has computed a verified result on the
/// GPU.
bool is_verified(const std::vector<Api>& apis, const Facts& gpu);

/// A reason `not-verified` {where, predicate, backend, result} for each unverified backend that the
/// variant uses on the GPU if the alternative applies. Unusable backends are skipped, because there
/// are already reasons for them.
std::vector<Reason> unverified(const Variant& variant,
                               const Conjunction& alternative,
                               const Facts& gpu);

// The requirements of the installed build's backends on this machine (docs/applications.md).

constexpr std::size_t kMaxPartWords = 256;
constexpr std::size_t kMaxParts = 64;

/// The keys are the names of the parts of a build, and the values are words about each part. A
/// build that isn't divided into parts has a single part with the name "".
using PartWords = std::map<std::string, std::vector<std::string>>;

/// The description of a build in a request.
struct DescribedBuild {
    PartWords needs = {};    ///< sonames of needed libraries, and predicates
    PartWords bundles = {};  ///< bundled sonames
    /// The build's kernels, such as "sm_86", "compute_90@9.1", "gfx1100" or "spirv", or the name of
    /// an API.
    PartWords kernels = {};
    bool operator==(const DescribedBuild&) const = default;
};

/// The error in a word of DescribedBuild::needs or DescribedBuild::kernels; nullopt if the word is
/// valid.
std::optional<std::string> need_problem(std::string_view word);
std::optional<std::string> kernels_problem(std::string_view word);

/// Whether the word is valid in Profile::bundles, because it is a backend, or a library of a GPU
/// API without ".so".
bool can_be_bundled(std::string_view word);
/// Whether one of the words in `words` means that the build bundles the library. Libraries of a
/// driver cannot be bundled with a build.
bool is_bundled(const std::vector<std::string>& words, std::string_view soname);
/// Whether one of the words in `words` means that the build bundles everything that the API needs
/// above the kernel. For Vulkan, this is Mesa.
bool is_bundled(const std::vector<std::string>& words, Api api);
/// The kernel drivers with which bundled libraries work, separated by spaces.
std::string_view kernel_drivers_for(Api api);

/// One of the ways in which a build can use a backend.
struct BuildNeeds {
    std::string build = {};                  ///< name of the part or variant
    Conjunction terms = {};                  ///< terms, all of which must hold
    std::vector<std::string> unlisted = {};  ///< libraries that reports do not contain
};
/// The alternatives for each backend; the keys are gpuprobe's backend names, including "cpu".
using InstalledNeeds = std::map<std::string, std::vector<BuildNeeds>, std::less<>>;

/// What a described build needs. `build` must contain only valid words, and `bundles` is the list
/// of bundled libraries in the profile.
InstalledNeeds needs_of(const DescribedBuild& build,
                        const std::vector<std::string>& bundles,
                        const Rules& rules);
/// The needs of variants. Errors: InvalidRequest for a name that isn't the name of a variant for
/// the host.
Result<InstalledNeeds> needs_of(const std::vector<std::string>& variants,
                                const Manifest& manifest,
                                const Facts& host);

}  // namespace gpuprobe::inline policy
