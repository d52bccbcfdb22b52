// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/nvidia_egl.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"
#include "base/value.h"
#include "probe/target.h"

namespace gpuprobe::backends {
namespace {

constexpr std::string_view kGlxLibrary = "libGLX_nvidia.so.0";
constexpr std::string_view kEglLibrary = "libEGL_nvidia.so.0";

Status write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const auto written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return Error{ErrorCode::Io, "writing a temporary manifest"};
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return Done{};
}

}  // namespace

std::optional<std::string> with_egl_library(std::string_view manifest) {
    // Change only ICD.library_path and keep all other members.
    auto document = parse_json(manifest, kMaxDriverManifest);
    if (!document)
        return std::nullopt;
    Value* const icd = document->find("ICD");
    Value* const library = icd ? icd->find("library_path") : nullptr;
    const std::string* const path = library ? library->as_string() : nullptr;
    if (!path || !path->ends_with(kGlxLibrary))
        return std::nullopt;
    *library = Value{path->substr(0, path->size() - kGlxLibrary.size()) + std::string{kEglLibrary}};
    return json_line(*document);
}

std::optional<std::string> egl_manifest(const FileSystem& files, const std::string& path) {
    // Without the kernel driver, the EGL library would find no device either.
    if (!files.exists("/proc/driver/nvidia"))
        return std::nullopt;
    const auto manifest = files.read(path, kMaxDriverManifest);
    return manifest ? with_egl_library(*manifest) : std::nullopt;
}

Result<TemporaryManifest> TemporaryManifest::create(std::string_view content) {
    const char* const folder = std::getenv("TMPDIR");
    // The loader accepts only files whose names end in .json.
    constexpr std::string_view kEnding = ".json";
    std::string path = std::string{folder && *folder ? folder : "/tmp"} + "/gpuprobe-XXXXXX";
    path += kEnding;
    const UniqueFd file{::mkostemps(path.data(), static_cast<int>(kEnding.size()), O_CLOEXEC)};
    if (!file)
        return errno_error(path, errno);
    TemporaryManifest manifest{path};
    // If this fails, the destructor deletes the file.
    (void)TRY(write_all(file.get(), content));
    return manifest;
}

TemporaryManifest::~TemporaryManifest() {
    if (!path_.empty())
        ::unlink(path_.c_str());
}

}  // namespace gpuprobe::backends
