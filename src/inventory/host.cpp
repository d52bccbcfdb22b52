// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <sys/utsname.h>

#include "base/text.h"
#include "inventory/cpu.h"
#include "inventory/jetson.h"
#include "inventory/linker_cache.h"
#include "inventory/scan.h"
#include "inventory/setup.h"
#include "inventory/virtualization.h"

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace gpuprobe::inline inventory {
namespace {

constexpr Bytes kMaxMeminfo = kib(64);

/// The value of a line "MemTotal:  16316408 kB" in /proc/meminfo, where kB is 1024 bytes (proc(5)).
std::optional<Bytes> memory_line(std::string_view meminfo, std::string_view key) {
    for (const auto line : split(meminfo, '\n')) {
        const auto columns = words(line);
        if (columns.size() != 3 || columns[0] != key || columns[2] != "kB")
            continue;
        const auto count = parse_number<std::uint64_t>(columns[1]);
        return count && *count < (1ULL << 54) ? std::optional{kib(*count)} : std::nullopt;
    }
    return std::nullopt;
}

/// The processor. The kernel's list of online processors has precedence over counting
/// /proc/cpuinfo.
Cpu cpu_of(const FileSystem& files) {
    const auto text = files.read("/proc/cpuinfo", kMaxCpuinfo);
    auto cpu = text ? parse_cpuinfo(*text) : Cpu{};
    if (const auto online = files.line("/sys/devices/system/cpu/online"))
        if (const auto count = processors_in(*online))
            cpu.cores = count;
    return cpu;
}

/// The machine's C library. Normally the one that this program uses, because other programs most
/// likely use it too. A static build, or a build for musl, has to look for the machine's.
Libc libc_of([[maybe_unused]] const FileSystem& files,
             [[maybe_unused]] std::string_view architecture) {
#if defined(__GLIBC__) && !defined(GPUPROBE_STATIC)
    return {.name = "glibc", .version = gnu_get_libc_version()};
#else
    return libc_of_programs(files, architecture);
#endif
}

/// True in the Windows Subsystem for Linux, by the kernel's release or its GPU node.
bool is_wsl(const FileSystem& files, std::string_view kernel) {
    const auto release = lower_case(kernel);
    return release.find("microsoft") != std::string::npos ||
           release.find("wsl") != std::string::npos || files.exists("/dev/dxg");
}

}  // namespace

HostMemory host_memory(const FileSystem& files) {
    const auto text = files.read("/proc/meminfo", kMaxMeminfo);
    if (!text)
        return {};
    return {.total = memory_line(*text, "MemTotal:"),
            .available = memory_line(*text, "MemAvailable:")};
}

Host running_kernel() {
    Host host;
    utsname names = {};
    if (::uname(&names) == 0) {
        host.os = lower_case(names.sysname);
        host.arch = names.machine;
        host.kernel = scrubbed(names.release);
    }
    return host;
}

Host detect_host(const FileSystem& files) {
    auto host = running_kernel();
    host.cpu = cpu_of(files);
    host.memory = host_memory(files);
    host.container = container_of(files);
    host.virtualization = virtualization_of(files, running_hypervisor());
    host.libc = libc_of(files, host.arch.value_or(""));
    host.wsl = is_wsl(files, host.kernel.value_or(""));
    host.l4t = jetson_release(files);
    host.libraries = host_libraries(files, host.arch.value_or(""));
    host.os_release = os_release_of(files);
    host.sandbox = sandbox_of(files);
    host.setup = kernel_setup(files, host.kernel);
    return host;
}

}  // namespace gpuprobe::inline inventory
