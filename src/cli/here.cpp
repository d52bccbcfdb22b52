// SPDX-License-Identifier: Apache-2.0
#include "cli/here.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/parse.h"
#include "explain/checks.h"

namespace gpuprobe {
namespace {

constexpr Bytes kMaxCommandLine = kib(64);
constexpr std::size_t kMaxListed = 64;
constexpr std::size_t kMaxText = 256;
/// Source: the Vulkan loader, docs/LoaderLayerInterface.md, "Linux Layer Discovery".
constexpr std::array kLayerFolders{"/etc/vulkan/implicit_layer.d",
                                   "/usr/local/share/vulkan/implicit_layer.d",
                                   "/usr/share/vulkan/implicit_layer.d"};
/// Source: CDI specification, "OCI runtime discovery".
constexpr std::array kCdiFolders{"/etc/cdi", "/var/run/cdi"};
/// The variable SecureBoot of the UEFI specification, 3.3: four bytes of attributes, then 1 or 0.
constexpr const char* kSecureBoot =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
constexpr std::size_t kSecureBootSize = 5;

std::vector<std::string> listed(const FileSystem& files,
                                std::span<const char* const> folders,
                                std::initializer_list<std::string_view> endings) {
    std::vector<std::string> found;
    for (const std::string folder : folders) {
        auto names = files.list(folder);
        if (!names)
            continue;  // most machines lack some
        std::ranges::sort(*names);
        for (const auto& name : *names) {
            const bool fits = std::ranges::any_of(
                endings, [&name](std::string_view ending) { return name.ends_with(ending); });
            if (fits && found.size() < kMaxListed)
                found.push_back(scrubbed(folder + "/" + name, kMaxText));
        }
    }
    return found;
}

std::optional<bool> secure_boot(const FileSystem& files) {
    const auto content = files.read(kSecureBoot, Bytes{kSecureBootSize});
    if (!content || content->size() != kSecureBootSize)
        return std::nullopt;
    return content->back() == 1;
}

}  // namespace

Surroundings surroundings_here(const FileSystem& files, const char* (*variable)(const char* name)) {
    Surroundings here{.secure_boot = secure_boot(files),
                      .vulkan_layers = listed(files, kLayerFolders, {".json"}),
                      .cdi_specs = listed(files, kCdiFolders, {".json", ".yaml", ".yml"}),
                      .has_wsl_libraries = files.exists("/usr/lib/wsl/lib")};
    for (const auto& known : kVariables) {
        const std::string name{known.name};
        if (const char* value = variable(name.c_str()))
            here.environment.emplace(name, scrubbed(value, kMaxText));
    }
    if (const auto line = files.read("/proc/cmdline", kMaxCommandLine))
        here.kernel_command_line = *line;
    return here;
}

}  // namespace gpuprobe
