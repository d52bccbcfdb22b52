// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "report/facts.h"
#include "report/machine.h"

namespace gpuprobe::inline probe {

/// The stage that queries a management library for the processes that use its devices. A worker in
/// this stage must share our PID namespace in order to see the processes, so it gets no namespaces
/// at all. The rest of the sandbox (docs/security.md) also applies to the worker.
constexpr std::string_view kProcessesStage = "processes";

/// The job of one worker: one API; for Vulkan and OpenCL one driver manifest; for VA-API and V4L2
/// one node; in the later stages one device of that driver.
struct ProbeTarget {
    std::string api = {};
    /// Path of the ICD manifest or .icd file; the library, if the driver has no manifest; the
    /// node, if the API opens one node at a time; "" if the API has only one driver.
    std::string driver = {};
    /// The library that the manifest names; a path relative to the manifest is made absolute.
    std::optional<std::string> library = {};
    std::string stage = "query";  ///< "query", "verify", "measure" or kProcessesStage
    /// The device that a later stage runs on: "pci:0000:00:06.0" if the query reported an address,
    /// otherwise "index:N". nullopt for the query, which covers all devices.
    std::optional<std::string> device = {};
    auto operator<=>(const ProbeTarget&) const = default;
};

/// A driver, or a folder with drivers, that an environment variable names.
struct NamedDriver {
    std::string path = {};  ///< a manifest, a folder or a library
    std::string variable = {};
    bool operator==(const NamedDriver&) const = default;
};

/// Folders with driver manifests, in search order. If two entries are the same file, only the first
/// is used.
struct TargetFolders {
    /// Source: Vulkan loader, LoaderDriverInterface.md, "Driver Discovery on Linux", with the
    /// defaults of the XDG variables, because a daemon does not have a user's XDG folders.
    std::vector<std::string> vulkan = {"/etc/xdg/vulkan/icd.d", "/usr/local/etc/vulkan/icd.d",
                                       "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d",
                                       "/usr/share/vulkan/icd.d"};
    /// Source: OpenCL extension specification, cl_khr_icd, "Source of the ICD on Linux".
    std::vector<std::string> opencl = {"/etc/OpenCL/vendors"};
    /// Vulkan manifests, and folders of Vulkan manifests, that are searched first.
    std::vector<NamedDriver> vulkan_named = {};
    /// OpenCL's .icd files, and folders of .icd files, that are searched first.
    std::vector<NamedDriver> opencl_named = {};
    /// Libraries of OpenCL drivers that have no .icd file.
    std::vector<NamedDriver> opencl_added = {};
};

/// Adds the drivers that environment variables name; items are separated by colons. VK_DRIVER_FILES
/// and OCL_ICD_VENDORS make the loaders ignore the default folders. gpuprobe searches the default
/// folders nevertheless, so that the report shows which GPUs the default drivers support. The
/// Vulkan loader reads only the first of VK_DRIVER_FILES, VK_ICD_FILENAMES and VK_ADD_DRIVER_FILES
/// that is set. `get` returns a variable or null. Sources: KhronosGroup/Vulkan-Loader@14406049,
/// loader/loader.c, read_data_files_in_search_paths(); KhronosGroup/OpenCL-ICD-Loader@00be9713,
/// loader/icd.c (ocl-icd does not read OCL_ICD_FILENAMES).
void add_from_environment(TargetFolders& folders, const char* (*get)(const char* name));
/// Adds the drivers that this process's environment variables name.
void add_from_environment(TargetFolders& folders);

/// Maps a driver to the variable that loaders need in order to load this driver.
using DriverVariables = std::map<std::string, std::string>;

struct TargetSearch {
    /// The targets: first the APIs without manifests, then the manifests of each API in search
    /// order. Within a folder, names are sorted.
    std::vector<ProbeTarget> targets = {};
    /// The results for manifests that can't be used. Each result has the outcome Failed, the reason
    /// "unreadable-manifest" or "malformed-manifest", and a note that names the file.
    std::vector<ProbeResult> unusable = {};
    DriverVariables variables = {};
};

/// Every probe that can run on this machine: one for each API with a single driver (`pci`, `nvml`,
/// `cuda` …), one per Vulkan ICD manifest, one per OpenCL .icd file, one per render node for
/// VA-API. An API without a usable manifest gets one target without a driver, so that a worker
/// still looks for its loader; a machine without render nodes has no target for VA-API. Manifests
/// for another CPU architecture (library_arch, or a name like intel_icd.i686.json) are skipped.
/// Reads manifests but loads nothing; at most 64 manifests or nodes per API. `machine` names the
/// render nodes.
TargetSearch find_targets(const FileSystem& files,
                          const Machine& machine,
                          const TargetFolders& folders = {});

constexpr Bytes kMaxDriverManifest = kib(64);

/// The parsed content of a Vulkan driver manifest. Source: Vulkan loader, LoaderDriverInterface.md,
/// "Driver Manifest File Format".
struct VulkanManifest {
    std::string library = {};           ///< a soname, or an absolute path
    std::optional<int> word_bits = {};  ///< library_arch: 32 or 64
};

/// Parses a manifest. `path`: the path of the manifest, against which a relative library path is
/// resolved. Errors: Malformed.
Result<VulkanManifest> parse_vulkan_manifest(std::string_view text, std::string_view path);

/// The library that an OpenCL .icd file names on its first line. Source: cl_khr_icd. Errors:
/// Malformed.
Result<std::string> parse_icd_file(std::string_view text);

/// Whether the file name marks the manifest as being for another CPU architecture. Distributions
/// that install manifests for several architectures use names such as "radeon_icd.i686.json".
bool is_for_another_processor(std::string_view name);

}  // namespace gpuprobe::inline probe
