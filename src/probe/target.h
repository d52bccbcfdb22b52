// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "report/facts.h"

namespace gpuprobe::inline probe {

/// Asks a management library which processes use its devices. Such a worker shares our PID
/// namespace, without which it would see nobody, and so has no namespaces at all; what else holds a
/// worker (docs/sandbox.md) holds it too.
constexpr std::string_view kProcessesStage = "processes";

/// One worker's job: one API, for Vulkan and OpenCL one driver manifest of it, and in the later
/// stages one device of that.
struct ProbeTarget {
    std::string api = {};
    std::string driver =
        {};  ///< path of the ICD manifest or .icd file; "" for the API's only driver
    /// What that manifest names; a path relative to the manifest is made absolute.
    std::optional<std::string> library = {};
    std::string stage = "query";  ///< "query", "verify", "measure" or kProcessesStage
    /// Which of the driver's devices a later stage is about: "pci:0000:00:06.0" where the query
    /// gave an address, else "index:N". nullopt for the query, which is about all of them.
    std::optional<std::string> device = {};
    auto operator<=>(const ProbeTarget&) const = default;
};

/// Where drivers announce themselves, in the order of search; where two are the same file, the
/// first counts.
struct TargetFolders {
    /// Source: Vulkan loader, LoaderDriverInterface.md, "Driver Discovery on Linux", with the
    /// fallbacks of the variables: a daemon has no user's XDG folders.
    std::vector<std::string> vulkan = {"/etc/xdg/vulkan/icd.d", "/usr/local/etc/vulkan/icd.d",
                                       "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d",
                                       "/usr/share/vulkan/icd.d"};
    /// Source: OpenCL extension specification, cl_khr_icd, "Source of the ICD on Linux".
    std::vector<std::string> opencl = {"/etc/OpenCL/vendors"};
};

struct TargetSearch {
    /// Those without manifests, then each API's in the order of search, names within a folder
    /// sorted.
    std::vector<ProbeTarget> targets = {};
    /// Failed: manifests that can't be tried, with the reason "unreadable-manifest" or
    /// "malformed-manifest" and a note that names the file.
    std::vector<ProbeResult> unusable = {};
};

/// Every probe that this machine offers: one for each API with one driver (`pci`, `nvml`, `cuda`
/// …), one per Vulkan ICD manifest, one per OpenCL .icd file. An API without any usable manifest
/// keeps one target without driver, so that its loader is still looked for. Manifests for another
/// processor (library_arch, or a name like intel_icd.i686.json) are passed over. Reads manifests,
/// loads nothing; at most 64 per API.
TargetSearch find_targets(const FileSystem& files, const TargetFolders& folders = {});

constexpr Bytes kMaxDriverManifest = kib(64);

/// What a Vulkan driver manifest says. Source: Vulkan loader, LoaderDriverInterface.md, "Driver
/// Manifest File Format".
struct VulkanManifest {
    std::string library = {};           ///< a soname, or an absolute path
    std::optional<int> word_bits = {};  ///< library_arch: 32 or 64
};

/// `path` is the manifest's own, which a relative library path starts from. Errors: Malformed.
Result<VulkanManifest> parse_vulkan_manifest(std::string_view text, std::string_view path);

/// The library that an OpenCL .icd file names on its first line. Source: cl_khr_icd. Errors:
/// Malformed.
Result<std::string> parse_icd_file(std::string_view text);

/// Whether the name says that the manifest is for another processor than ours, as distributions
/// that install several do: "radeon_icd.i686.json".
bool is_for_another_processor(std::string_view name);

}  // namespace gpuprobe::inline probe
