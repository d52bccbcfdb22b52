// SPDX-License-Identifier: Apache-2.0
#include "inventory/host.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>

#include <sys/utsname.h>

#include "base/text.h"
#include "inventory/nvidia.h"
#include "inventory/scan.h"
#include "inventory/setup.h"
#include "inventory/virtualization.h"
#include "report/api_table.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxFeatures = 1024;
constexpr std::size_t kMaxFeatureName = 32;
constexpr std::uint32_t kMaxProcessors = 65536;

// The features that each x86-64 level adds to the previous level, in the kernel's names.
constexpr std::array<std::string_view, 9> kLevel1{"cmov", "cx8", "fpu",  "fxsr",   "lm",
                                                  "mmx",  "sse", "sse2", "syscall"};
constexpr std::array<std::string_view, 7> kLevel2{"cx16",   "lahf_lm", "pni",  "popcnt",
                                                  "sse4_1", "sse4_2",  "ssse3"};
constexpr std::array<std::string_view, 9> kLevel3{"abm",  "avx", "avx2",  "bmi1", "bmi2",
                                                  "f16c", "fma", "movbe", "xsave"};
constexpr std::array<std::string_view, 5> kLevel4{"avx512bw", "avx512cd", "avx512dq", "avx512f",
                                                  "avx512vl"};

/// On Arm, /proc/cpuinfo contains numbers instead of names: the implementer and the part number in
/// MIDR_EL1. Source: arch/arm64/include/asm/cputype.h.
struct ArmPart {
    std::uint32_t implementer;
    std::uint32_t part;
    const char* name;
};
constexpr std::array<ArmPart, 16> kArmParts{{
    {0x41, 0xd03, "Cortex-A53"},
    {0x41, 0xd05, "Cortex-A55"},
    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},
    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd42, "Cortex-A78AE"},
    {0x41, 0xd49, "Neoverse-N2"},
    {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd85, "Cortex-X925"},
    {0x41, 0xd87, "Cortex-A725"},
    {0x4e, 0x004, "Carmel"},
    {0x51, 0x001, "Oryon"},
    {0xc0, 0xac3, "Ampere-1"},
    {0xc0, 0xac4, "Ampere-1A"},
}};

using Fields = std::map<std::string, std::string, std::less<>>;

std::optional<std::string> field(const Fields& fields, std::string_view key) {
    const auto found = fields.find(key);
    return found == fields.end() || found->second.empty() ? std::nullopt
                                                          : std::optional{found->second};
}

/// The name of an Arm core; nullopt if the name is unknown.
std::optional<std::string> arm_model(const Fields& fields) {
    const auto implementer =
        parse_hex<std::uint32_t>(field(fields, "CPU implementer").value_or(""));
    const auto part = parse_hex<std::uint32_t>(field(fields, "CPU part").value_or(""));
    for (const auto& row : kArmParts)
        if (implementer == row.implementer && part == row.part)
            return row.name;
    return std::nullopt;
}

/// The processor's name, which has the key "model name" on x86 and s390, "cpu" on POWER, and "cpu
/// model" on MIPS. On Arm, the processor's name is derived from numbers.
std::optional<std::string> model_of(const Fields& fields) {
    for (const auto* key : {"model name", "cpu model", "cpu", "uarch"})
        if (const auto name = field(fields, key))
            return scrubbed(*name);
    return arm_model(fields);
}

/// The sorted features. The key for the features is "flags" on x86, "Features" on Arm and
/// "features" on s390.
std::vector<std::string> features_of(const Fields& fields) {
    std::vector<std::string> features;
    for (const auto* key : {"flags", "Features", "features"}) {
        const auto list = field(fields, key).value_or("");
        for (const auto word : words(list))
            if (features.size() < kMaxFeatures)
                features.push_back(scrubbed(word, kMaxFeatureName));
    }
    std::ranges::sort(features);
    features.erase(std::unique(features.begin(), features.end()), features.end());
    return features;
}

bool has_all(const std::vector<std::string>& features, std::span<const std::string_view> wanted) {
    return std::ranges::all_of(wanted, [&features](std::string_view feature) {
        return std::ranges::binary_search(features, feature, std::less<>{});
    });
}

/// The microarchitecture level, from "x86-64-v1" to "x86-64-v4"; nullopt for processors below v1
/// and for other architectures. Source: x86-64 psABI 1.0, section 3.1.1, table 3.1. `features` are
/// sorted kernel names, which have "pni" for SSE3 and "abm" for LZCNT
/// (arch/x86/include/asm/cpufeatures.h).
std::optional<std::string> x86_level(const std::vector<std::string>& features) {
    if (!has_all(features, kLevel1))
        return std::nullopt;
    if (!has_all(features, kLevel2))
        return "x86-64-v1";
    if (!has_all(features, kLevel3))
        return "x86-64-v2";
    return has_all(features, kLevel4) ? "x86-64-v4" : "x86-64-v3";
}

}  // namespace

Cpu parse_cpuinfo(std::string_view text) {
    Fields first;  // emplace() keeps the first processor's values
    std::uint32_t processors = 0;
    for (const auto line : split(text, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        const auto key = trimmed(line.substr(0, colon));
        if (key == "processor" && processors < kMaxProcessors)
            ++processors;
        first.emplace(key, trimmed(line.substr(colon + 1)));
    }
    Cpu cpu{.model = model_of(first), .features = features_of(first)};
    if (processors > 0)
        cpu.cores = processors;
    cpu.level = x86_level(cpu.features);
    return cpu;
}

std::optional<std::uint32_t> processors_in(std::string_view list) {
    std::uint32_t count = 0;
    for (const auto range : split(trimmed(list), ',')) {
        const auto dash = range.find('-');
        const auto first = parse_number<std::uint32_t>(range.substr(0, dash));
        const auto last = dash == std::string_view::npos
                              ? first
                              : parse_number<std::uint32_t>(range.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= kMaxProcessors)
            return std::nullopt;
        count += *last - *first + 1;
        if (count > kMaxProcessors)
            return std::nullopt;
    }
    return count;
}

namespace {

constexpr Bytes kMaxCache = mib(8);
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr Bytes kMaxLibrary = mib(16);
constexpr std::size_t kHeader = 48;
constexpr std::size_t kEntry = 24;
constexpr std::size_t kMaxSoname = 256;
constexpr std::size_t kMaxPath = 4096;

/// A library in the cache of the dynamic linker.
struct CachedLibrary {
    std::string soname = {};
    std::string path = {};
    auto operator<=>(const CachedLibrary&) const = default;
};

/// An architecture, and the flags that 64-bit libraries for this architecture have in the linker's
/// cache.
struct Flags {
    std::string_view architecture;
    std::uint32_t flags;  ///< FLAG_ELF_LIBC6 and the architecture's flag
};
constexpr Flags kFlags[] = {
    {"x86_64", 0x0303},  {"aarch64", 0x0a03}, {"riscv64", 0x1003},
    {"ppc64le", 0x0503}, {"s390x", 0x0403},
};

/// Reads a number in the machine's byte order, which the linker's cache uses. The number must be
/// completely within `text`.
std::uint32_t offset_at(std::string_view text, std::size_t offset) {
    std::uint32_t number = 0;
    std::memcpy(&number, text.data() + offset, sizeof(number));
    return number;
}

/// A NUL-terminated string in the linker's cache; nullopt if the string exceeds the limit or is
/// outside the cache.
std::optional<std::string> text_at(std::string_view cache, std::size_t offset, std::size_t limit) {
    if (offset >= cache.size())
        return std::nullopt;
    const auto rest = cache.substr(offset, limit);
    const auto end = rest.find('\0');
    return end == std::string_view::npos ? std::nullopt
                                         : std::optional{std::string{rest.substr(0, end)}};
}

/// The library of an entry. An entry of the cache consists of the flags, the offset of the soname
/// and the offset of the path, 4 bytes each.
std::optional<CachedLibrary> library_at(std::string_view cache, std::size_t entry) {
    auto soname = text_at(cache, offset_at(cache, entry + 4), kMaxSoname);
    auto path = text_at(cache, offset_at(cache, entry + 8), kMaxPath);
    if (!soname || !path)
        return std::nullopt;
    return CachedLibrary{.soname = std::move(*soname), .path = std::move(*path)};
}

/// The 64-bit libraries for an architecture (uname -m) in the content of /etc/ld.so.cache, sorted;
/// nullopt in the same cases as cached_sonames().
std::optional<std::vector<CachedLibrary>> cached_libraries(std::string_view text,
                                                           std::string_view architecture) {
    const auto* row = std::ranges::find(kFlags, architecture, &Flags::architecture);
    // On older systems the cache begins with the format of glibc before 2.2.
    const auto start = text.find(kMagic);
    if (row == std::end(kFlags) || start == std::string_view::npos)
        return std::nullopt;
    const auto cache = text.substr(start);
    if (cache.size() < kHeader)
        return std::nullopt;
    const std::size_t count = offset_at(cache, kMagic.size());
    if (count > (cache.size() - kHeader) / kEntry)
        return std::nullopt;
    std::vector<CachedLibrary> libraries;
    for (std::size_t i = 0; i < count; ++i) {
        const auto entry = kHeader + i * kEntry;
        if (offset_at(cache, entry) != row->flags)
            continue;
        auto library = library_at(cache, entry);
        if (!library)
            return std::nullopt;
        libraries.push_back(std::move(*library));
    }
    std::ranges::sort(libraries);
    return libraries;
}

/// The version in a banner such as "GNU C Library (…) stable release version 2.36."
std::optional<std::string> glibc_version_in(std::string_view library) {
    constexpr std::string_view kBefore = "release version ";
    const auto banner = library.find("GNU C Library (");
    const auto before = library.find(kBefore, std::min(banner, library.size()));
    if (before == std::string_view::npos)
        return std::nullopt;
    auto version = library.substr(before + kBefore.size());
    version = version.substr(0, std::min(version.find_first_not_of("0123456789."), kMaxSoname));
    while (version.ends_with('.'))
        version.remove_suffix(1);
    return version.empty() ? std::nullopt : std::optional{std::string{version}};
}

}  // namespace

std::optional<std::vector<std::string>> cached_sonames(std::string_view text,
                                                       std::string_view architecture) {
    auto libraries = cached_libraries(text, architecture);
    if (!libraries)
        return std::nullopt;
    std::vector<std::string> sonames;
    for (auto& library : *libraries)
        if (sonames.empty() || sonames.back() != library.soname)
            sonames.push_back(std::move(library.soname));
    return sonames;
}

namespace {

/// Debian's multiarch triplet for an architecture that `uname -m` prints. Source: Debian wiki,
/// "Multiarch/Tuples".
std::string multiarch(const std::string& arch) {
    if (arch == "ppc64le")
        return "powerpc64le-linux-gnu";
    if (arch == "armv6l" || arch == "armv7l")
        return "arm-linux-gnueabihf";
    const bool is_i386 = arch.size() == 4 && arch.starts_with('i') && arch.ends_with("86");
    return (is_i386 ? "i386" : arch) + "-linux-gnu";
}

}  // namespace

std::vector<std::string> library_folders(const Host& host) {
    const auto triplet = multiarch(host.arch.value_or("x86_64"));
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

std::optional<std::vector<std::string>> library_paths(const FileSystem& files,
                                                      std::string_view architecture,
                                                      const std::vector<std::string>& starts) {
    const auto text = files.read(std::string{kLinkerCache}, kMaxCache);
    const auto libraries = text ? cached_libraries(*text, architecture) : std::nullopt;
    if (!libraries)
        return std::nullopt;
    std::vector<std::string> paths;
    for (const auto& library : *libraries)
        if (std::ranges::any_of(
                starts, [&](const auto& start) { return library.soname.starts_with(start); }))
            paths.push_back(library.path);
    return paths;
}

std::optional<std::vector<std::string>> host_libraries(const FileSystem& files,
                                                       std::string_view architecture) {
    const auto text = files.read(std::string{kLinkerCache}, kMaxCache);
    auto sonames = text ? cached_sonames(*text, architecture) : std::nullopt;
    if (!sonames)
        return std::nullopt;
    std::erase_if(*sonames, [](const std::string& soname) {
        return !is_listed_library(soname) || scrubbed(soname) != soname;
    });
    return sonames;
}

Libc libc_of_programs(const FileSystem& files, std::string_view architecture) {
    auto paths =
        library_paths(files, architecture, {"libc.so.6"}).value_or(std::vector<std::string>{});
    // The usual paths are added because some systems have no linker cache, or a cache without the C
    // library.
    paths.insert(paths.end(), {"/lib64/libc.so.6", "/usr/lib/libc.so.6"});
    for (const auto& path : paths)
        if (const auto library = files.read(path, kMaxLibrary))
            if (auto version = glibc_version_in(*library))
                return {.name = "glibc", .version = std::move(version)};
    // musl is recognized by its loader, "ld-musl-x86_64.so.1".
    const auto loaders = files.list("/lib");
    const bool is_musl = loaders && std::ranges::any_of(*loaders, [](const std::string& name) {
                             return name.starts_with("ld-musl-");
                         });
    return {.name = is_musl ? std::optional<std::string>{"musl"} : std::nullopt};
}

}  // namespace gpuprobe::inline inventory

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace gpuprobe::inline inventory {
namespace {

constexpr Bytes kMaxMeminfo = kib(64);

/// The value in a line such as "MemTotal: 16316408 kB" in /proc/meminfo, where kB means 1024 bytes
/// (proc(5)).
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

/// The processor. The kernel's list of online processors takes precedence over the number in
/// /proc/cpuinfo.
Cpu cpu_of(const FileSystem& files, std::string_view cpuinfo) {
    auto cpu = parse_cpuinfo(cpuinfo);
    if (const auto online = files.line("/sys/devices/system/cpu/online"))
        if (const auto count = processors_in(*online))
            cpu.cores = count;
    return cpu;
}

/// The machine's C library. Normally, the machine's C library is the library that this program
/// uses, because other programs probably use the same library. A static build, or a build with
/// musl, has to search for the machine's C library.
Libc libc_of([[maybe_unused]] const FileSystem& files,
             [[maybe_unused]] std::string_view architecture) {
#if defined(__GLIBC__) && !defined(GPUPROBE_STATIC)
    return {.name = "glibc", .version = gnu_get_libc_version()};
#else
    return libc_of_programs(files, architecture);
#endif
}

/// True in the Windows Subsystem for Linux, which is recognized by the kernel's release or by the
/// node /dev/dxg.
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
    // On machines with hundreds of processors, the kernel needs milliseconds to write
    // /proc/cpuinfo.
    const auto cpuinfo = files.read("/proc/cpuinfo", kMaxCpuinfo).value_or("");
    host.cpu = cpu_of(files, cpuinfo);
    host.memory = host_memory(files);
    host.container = container_of(files);
    host.virtualization = virtualization_of(files, cpuinfo, running_hypervisor());
    host.libc = libc_of(files, host.arch.value_or(""));
    host.wsl = is_wsl(files, host.kernel.value_or(""));
    host.l4t = jetson_release(files);
    host.libraries = host_libraries(files, host.arch.value_or(""));
    host.os_release = os_release_of(files);
    host.sandbox = sandbox_of(files);
    host.setup = kernel_setup(files, host.kernel);
    host.python = python_of(files);
    return host;
}

}  // namespace gpuprobe::inline inventory
