// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/result.h"

/// NVIDIA's Vulkan driver can be reached through two libraries. The installed manifest names
/// libGLX_nvidia.so.0, which offers nothing on a machine without X libraries; the same driver
/// behind libEGL_nvidia.so.0 works there. Source: NVIDIA/nvidia-container-toolkit issues 16, 191
/// and 1952; seen on an H200 with driver 580.
namespace gpuprobe::backends {

/// The manifest with the EGL library in its place; nullopt when it does not name the GLX library.
std::optional<std::string> with_egl_library(std::string_view manifest);

/// That manifest for the driver at `path`, when the NVIDIA kernel driver is loaded too.
std::optional<std::string> egl_manifest(const FileSystem& files, const std::string& path);

/// A file that exists until the end of the scope. Errors: Io.
class TemporaryManifest {
public:
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
