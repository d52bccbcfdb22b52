// SPDX-License-Identifier: Apache-2.0
#include "inventory/container.h"

#include <array>

#include "base/parse.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr Bytes kMaxEnvironment = mib(1);
constexpr Bytes kMaxCgroup = kib(64);
constexpr std::size_t kMaxContainerName = 32;

struct Hint {
    std::string_view piece;
    const char* name;
};
/// Folder names that managers give to cgroups.
constexpr std::array<Hint, 7> kCgroupHints{{
    {"kubepods", "kubernetes"},
    {"/docker", "docker"},
    {"libpod", "podman"},
    {"/lxc", "lxc"},
    {"garden", "garden"},
    {"containerd", "containerd"},
    {"machine.slice/machine-", "systemd-nspawn"},
}};

/// What a manager calls itself, if it has the form of a name.
std::optional<std::string> name_from(std::string_view text) {
    const auto name = lower_case(trimmed(text));
    if (name.empty() || name.size() > kMaxContainerName ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") != std::string::npos)
        return std::nullopt;
    return name;
}

/// "container=" of process 1; readable for root and for the same user only.
std::optional<std::string> from_environment(const FileSystem& files) {
    const auto environment = files.read("/proc/1/environ", kMaxEnvironment);
    if (!environment)
        return std::nullopt;
    constexpr std::string_view kKey = "container=";
    for (const auto entry : split(*environment, '\0'))
        if (entry.starts_with(kKey))
            return name_from(entry.substr(kKey.size()));
    return std::nullopt;
}

std::optional<std::string> from_marker(const FileSystem& files) {
    if (files.exists("/run/.containerenv"))
        return "podman";
    if (files.exists("/.dockerenv"))
        return "docker";
    if (files.exists("/.singularity.d"))  // of Apptainer too, which was Singularity
        return "apptainer";
    return std::nullopt;
}

std::optional<std::string> from_cgroup(const FileSystem& files) {
    const auto groups = files.read("/proc/1/cgroup", kMaxCgroup);
    if (!groups)
        return std::nullopt;
    for (const auto& hint : kCgroupHints)
        if (groups->find(hint.piece) != std::string::npos)
            return hint.name;
    return std::nullopt;
}

std::optional<std::string> declared(const FileSystem& files) {
    for (const auto* path : {"/run/host/container-manager", "/run/systemd/container"})
        if (const auto line = files.line(path))
            if (auto name = name_from(*line))
                return name;
    return from_environment(files);
}

}  // namespace

std::optional<std::string> container_of(const FileSystem& files) {
    const auto name = declared(files);
    if (name && *name != "oci")
        return name;
    if (auto marked = from_marker(files))
        return marked;
    if (auto hinted = from_cgroup(files))
        return hinted;
    return name ? std::optional<std::string>{"container-other"} : std::nullopt;
}

}  // namespace gpuprobe::inline inventory
