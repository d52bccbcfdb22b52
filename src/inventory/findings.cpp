// SPDX-License-Identifier: Apache-2.0
#include "inventory/findings.h"

#include <array>

#include "base/text.h"
#include "inventory/device_folder.h"
#include "inventory/nvidia_proc.h"
#include "report/hardware.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr const char* kUvmNode = "/dev/nvidia-uvm";
constexpr std::uint32_t kFirstDriverBranch = 100;  // Tegra's libcuda.so.1.1 is an ABI number

/// Debian's multiarch triplet for a `uname -m`.
std::string multiarch(const Host& host) {
    const auto arch = host.arch.value_or("x86_64");
    if (arch == "ppc64le")
        return "powerpc64le-linux-gnu";
    return arch + "-linux-gnu";
}

/// The folders in which distributions and containers install the driver's libraries, in search
/// order: folders for the native word size first.
std::vector<std::string> library_folders(const Host& host) {
    const auto triplet = multiarch(host);
    return {"/usr/lib/" + triplet,
            "/lib/" + triplet,
            "/usr/lib/" + triplet + "/nvidia/current",
            "/usr/lib64",
            "/usr/lib64/nvidia",
            "/lib64",
            "/run/opengl-driver/lib",   // NixOS
            "/usr/local/nvidia/lib64",  // Container-Optimized OS
            "/opt/nvidia/lib64",
            "/usr/lib/nvidia",
            "/usr/lib"};
}

constexpr std::string_view kCuda = "libcuda.so.";
/// Libraries that are part of every driver release and work only with libraries of the same
/// release.
constexpr auto kReleased =
    std::to_array<std::string_view>({"libnvidia-ml.so.", "libnvidia-ptxjitcompiler.so."});

/// The version after `prefix`; nullopt for anything except a driver version, such as the "1" of an
/// ABI.
std::optional<std::string> version_in_name(std::string_view name, std::string_view prefix) {
    if (!name.starts_with(prefix))
        return std::nullopt;
    const auto version = name.substr(prefix.size());
    if (version.find_first_not_of("0123456789.") != std::string_view::npos)
        return std::nullopt;
    const auto branch = parse_number<std::uint32_t>(version.substr(0, version.find('.')));
    if (!branch || *branch < kFirstDriverBranch)
        return std::nullopt;
    return std::string{version};
}

Reason reason(std::string code) {
    return Reason{.code = std::move(code)};
}

/// `no-driver`, except for display-only devices, which work without a driver. DRM and accel devices
/// have a driver even if its link is missing; without a uevent, a missing driver proves nothing.
std::optional<Reason> missing_driver(const Sysfs& sysfs, const HardwareDevice& device) {
    if (role_of(device) == Role::DisplayOnly)
        return std::nullopt;
    if (device.driver || device.is_drm || device.is_accel || device.bus == HardwareBus::Other)
        return std::nullopt;
    if (!DeviceFolder{sysfs, device.sysfs_path}.has_uevent())
        return std::nullopt;
    auto found = reason("no-driver");
    found.detail["modalias"] = to_value(device.modalias);
    return found;
}

/// `driver-mismatch`, if both versions are known.
std::optional<Reason> mismatch(const Sysfs& sysfs, const Host& host) {
    const auto kernel = nvidia_module(sysfs).version;
    const auto library = installed_libcuda(sysfs, host);
    if (!kernel || !library || library->version == *kernel)
        return std::nullopt;
    auto found = reason("driver-mismatch");
    found.detail["kernel"] = *kernel;
    found.detail["userspace"] = library->version;
    found.detail["library"] = library->path;
    return found;
}

/// `driver-mixed`, for the first library with another version than libcuda.so.1 in the same folder.
std::optional<Reason> mixed(const Sysfs& sysfs, const Host& host) {
    const auto cuda = installed_libcuda(sysfs, host);
    for (const auto name : kReleased) {
        const auto path =
            cuda
                ? sysfs.resolved(std::string{folder_of(cuda->path)} + "/" + std::string{name} + "1")
                : std::nullopt;
        const auto version = path ? version_in_name(base_name(*path), name) : std::nullopt;
        if (!version || *version == cuda->version)
            continue;
        auto found = reason("driver-mixed");
        found.detail["version"] = *version;
        found.detail["library"] = *path;
        found.detail["cuda"] = cuda->version;
        return found;
    }
    return std::nullopt;
}

/// `uvm-missing`, if the source of the nodes can prove it.
std::optional<Reason> missing_uvm(const Sysfs& sysfs, const DeviceNodes& nodes) {
    if (!nodes.known() || nodes.find(kUvmNode))
        return std::nullopt;
    auto found = reason("uvm-missing");
    found.detail["node"] = kUvmNode;
    found.detail["module_loaded"] = sysfs.exists("/sys/module/nvidia_uvm");
    return found;
}

}  // namespace

std::optional<CudaLibrary> installed_libcuda(const Sysfs& sysfs, const Host& host) {
    for (const auto& folder : library_folders(host)) {
        const auto path = sysfs.resolved(folder + "/libcuda.so.1");
        if (!path)
            continue;
        auto version = version_in_name(base_name(*path), kCuda);
        return version ? std::optional{CudaLibrary{.version = std::move(*version), .path = *path}}
                       : std::nullopt;
    }
    return std::nullopt;
}

std::vector<Reason> findings_of(const Sysfs& sysfs,
                                const DeviceNodes& nodes,
                                const Host& host,
                                const HardwareDevice& device) {
    std::vector<Reason> found;
    const auto add = [&found](std::optional<Reason> maybe) {
        if (maybe)
            found.push_back(std::move(*maybe));
    };
    add(missing_driver(sysfs, device));
    if (is_passed_through(device)) {
        auto kept = reason("passthrough");
        kept.detail["driver"] = *device.driver;
        add(kept);
    }
    if (device.driver == "nvidia") {
        add(mismatch(sysfs, host));
        add(mixed(sysfs, host));
        add(missing_uvm(sysfs, nodes));
    }
    return found;
}

}  // namespace gpuprobe::inline inventory
