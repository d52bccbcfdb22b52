// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/manifest.h"
#include "policy/term.h"

/// The build that is installed: what a backend of it needs on this machine (docs/installed.md).
namespace gpuprobe::inline policy {

constexpr std::size_t kMaxPartWords = 256;
constexpr std::size_t kMaxParts = 64;

/// Part of a build → words about it. A build that is told in one piece has one part, "".
using PartWords = std::map<std::string, std::vector<std::string>>;

/// What a request tells of the build.
struct ToldBuild {
    PartWords needs = {};   ///< sonames, and predicates
    PartWords brings = {};  ///< sonames that come with it
    PartWords code = {};    ///< "sm_86", "compute_90@9.1", "gfx1100", "spirv", an API's word
    bool operator==(const ToldBuild&) const = default;
};

/// What is wrong with a word of ToldBuild::needs or ::code; nullopt when nothing is.
std::optional<std::string> need_problem(std::string_view word);
std::optional<std::string> code_problem(std::string_view word);

/// A word of Profile::brings: a backend, or a library of a GPU's API without its ".so".
bool is_bringable(std::string_view word);
/// Whether one of these words brings the library. What belongs to a driver nobody brings.
bool is_brought(const std::vector<std::string>& words, std::string_view soname);
/// Whether one of them brings all that the API needs above the kernel; of Vulkan that is Mesa.
bool is_brought(const std::vector<std::string>& words, Api api);
/// The kernel's drivers that what is brought works with, by spaces.
std::string_view kernel_drivers_for(Api api);

/// One way in which a build can use a backend.
struct BuildNeeds {
    std::string build = {};  ///< the part's or the variant's name
    Conjunction terms = {};  ///< all must hold
    bool takes_doubt = false;
    std::vector<std::string> unlisted = {};  ///< libraries that no report tells of
};
/// By our backend names, "cpu" among them.
using InstalledNeeds = std::map<std::string, std::vector<BuildNeeds>, std::less<>>;

/// `told` holds no word with a problem; `brings` are a profile's.
InstalledNeeds needs_of(const ToldBuild& told,
                        const std::vector<std::string>& brings,
                        const Rules& rules);
/// Errors: InvalidRequest for a word that names no variant of the manifest on that host.
Result<InstalledNeeds> needs_of(const std::vector<std::string>& variants,
                                const Manifest& manifest,
                                const Facts& host);

}  // namespace gpuprobe::inline policy
