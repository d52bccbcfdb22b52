// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/backend.h"
#include "base/files.h"
#include "base/result.h"

namespace gpuprobe::backends {

/// Visits the devices of one Vulkan driver. Does not create a VkDevice; a VkDevice with one queue
/// is created only when a device is opened.
///
/// The environment must restrict the loader to the target's driver (VK_DRIVER_FILES,
/// VK_ICD_FILENAMES) and disable implicit layers. If the target has no driver, only the loader is
/// checked. The answer is Absent if there is no loader or no manifest, or if the driver offers no
/// device (reported by VK_ERROR_INCOMPATIBLE_DRIVER, VK_ERROR_INITIALIZATION_FAILED or an empty
/// list).
Answer visit_vulkan(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Like visit_vulkan(), with the file system from which the EGL fallback reads NVIDIA's kernel
/// driver and the manifest. The loader itself always reads its files from the running system.
Answer visit_vulkan_on(const FileSystem& files,
                       const ProbeTarget& target,
                       Sink& sink,
                       const VisitDevice& visit);

constexpr std::uint32_t kMaxVulkanDevices = 64;

// A fallback for NVIDIA's Vulkan driver, which has two entry libraries. The installed manifest
// names libGLX_nvidia.so.0, which lists no device on a machine without X libraries;
// libEGL_nvidia.so.0 loads the same driver and works on such a machine. Source:
// NVIDIA/nvidia-container-toolkit issues 16, 191 and 1952; seen on an H200 with driver 580.

/// The manifest with the GLX library replaced by the EGL library; nullopt if the manifest names
/// another library.
std::optional<std::string> with_egl_library(std::string_view manifest);

/// A manifest file that is deleted at the end of the scope.
class TemporaryManifest {
public:
    /// Writes the file below $TMPDIR or /tmp. Errors: Io.
    static Result<TemporaryManifest> create(std::string_view content);
    TemporaryManifest(TemporaryManifest&& other) noexcept
        : path_{std::exchange(other.path_, std::string{})} {}
    TemporaryManifest& operator=(TemporaryManifest&&) = delete;
    ~TemporaryManifest();
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    explicit TemporaryManifest(std::string path) : path_{std::move(path)} {}
    std::string path_;
};

}  // namespace gpuprobe::backends
