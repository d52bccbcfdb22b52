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
/// alternative's predicates or, if there are none, the API after which the variant's family is
/// named ("cuda", "rocm"). Empty if neither the predicates nor the family name an API.
std::vector<Api> apis_used(const Variant& variant, const Conjunction& alternative);

/// A reason `no-permission` for each inaccessible device node that the variant needs on the GPU
/// under this alternative; empty if one of the variant's APIs works without access to these nodes.
std::vector<Reason> closed_nodes(const Variant& variant,
                                 const Conjunction& alternative,
                                 const Facts& gpu);

/// Whether the list is not empty and every API in the list has computed a checked result on the
/// GPU.
bool is_verified(const std::vector<Api>& apis, const Facts& gpu);

/// A reason `not-verified` {where, predicate, backend, result} for each unverified backend that the
/// variant uses on the GPU under this alternative. Unusable backends are skipped, because they
/// already have reasons.
std::vector<Reason> unverified(const Variant& variant,
                               const Conjunction& alternative,
                               const Facts& gpu);

// The installed build: requirements of its backends on this machine (docs/applications.md).

constexpr std::size_t kMaxPartWords = 256;
constexpr std::size_t kMaxParts = 64;

/// Maps the name of a part of a build to words about this part. A build that is not split has a
/// single part with the name "".
using PartWords = std::map<std::string, std::vector<std::string>>;

/// The description of a build in a request.
struct DescribedBuild {
    PartWords needs = {};    ///< needed sonames, and predicates
    PartWords bundles = {};  ///< bundled sonames
    /// Kernels: "sm_86", "compute_90@9.1", "gfx1100", "spirv", or the name of an API.
    PartWords kernels = {};
    bool operator==(const DescribedBuild&) const = default;
};

/// The error in a word of DescribedBuild::needs or DescribedBuild::kernels; nullopt if the word is
/// valid.
std::optional<std::string> need_problem(std::string_view word);
std::optional<std::string> kernels_problem(std::string_view word);

/// Whether the word is valid in Profile::bundles: a backend, or a library of a GPU API without
/// ".so".
bool can_be_bundled(std::string_view word);
/// Whether one of these words means that the build bundles the library. A build cannot bundle
/// libraries of a driver.
bool is_bundled(const std::vector<std::string>& words, std::string_view soname);
/// Whether one of these words means that the build bundles everything that the API needs above the
/// kernel. For Vulkan, this is Mesa.
bool is_bundled(const std::vector<std::string>& words, Api api);
/// The kernel drivers that bundled libraries work with, separated by spaces.
std::string_view kernel_drivers_for(Api api);

/// One of the alternative ways in which a build can use a backend.
struct BuildNeeds {
    std::string build = {};                  ///< name of the part or variant
    Conjunction terms = {};                  ///< terms that must all hold
    std::vector<std::string> unlisted = {};  ///< libraries that reports do not include
};
/// Alternatives by gpuprobe's backend names, including "cpu".
using InstalledNeeds = std::map<std::string, std::vector<BuildNeeds>, std::less<>>;

/// The needs of a described build. `build` must contain only valid words; `bundles` is the
/// profile's list.
InstalledNeeds needs_of(const DescribedBuild& build,
                        const std::vector<std::string>& bundles,
                        const Rules& rules);
/// The needs of variants. Errors: InvalidRequest for a name that is not the name of a variant for
/// that host.
Result<InstalledNeeds> needs_of(const std::vector<std::string>& variants,
                                const Manifest& manifest,
                                const Facts& host);

}  // namespace gpuprobe::inline policy
