// SPDX-License-Identifier: Apache-2.0
#include "inventory/linker_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/text.h"
#include "report/api_table.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr Bytes kMaxCache = mib(8);
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr Bytes kMaxLibrary = mib(16);
constexpr std::size_t kHeader = 48;
constexpr std::size_t kEntry = 24;
constexpr std::size_t kMaxSoname = 256;
constexpr std::size_t kMaxPath = 4096;

/// An architecture and the flags of its 64-bit libraries in the cache.
struct Flags {
    std::string_view architecture;
    std::uint32_t flags;  ///< FLAG_ELF_LIBC6 and the architecture's flag
};
constexpr Flags kFlags[] = {
    {"x86_64", 0x0303},  {"aarch64", 0x0a03}, {"riscv64", 0x1003},
    {"ppc64le", 0x0503}, {"s390x", 0x0403},
};

/// A number in the machine's byte order, which the cache uses. The offset must be within the text.
std::uint32_t offset_at(std::string_view text, std::size_t offset) {
    std::uint32_t number = 0;
    std::memcpy(&number, text.data() + offset, sizeof(number));
    return number;
}

/// A NUL-terminated text in the cache; nullopt if it is longer than the limit or outside.
std::optional<std::string> text_at(std::string_view cache, std::size_t offset, std::size_t limit) {
    if (offset >= cache.size())
        return std::nullopt;
    const auto rest = cache.substr(offset, limit);
    const auto end = rest.find('\0');
    return end == std::string_view::npos ? std::nullopt
                                         : std::optional{std::string{rest.substr(0, end)}};
}

/// The library of an entry: flags, offset of the soname, offset of the path, each 4 bytes.
std::optional<CachedLibrary> library_at(std::string_view cache, std::size_t entry) {
    auto soname = text_at(cache, offset_at(cache, entry + 4), kMaxSoname);
    auto path = text_at(cache, offset_at(cache, entry + 8), kMaxPath);
    if (!soname || !path)
        return std::nullopt;
    return CachedLibrary{.soname = std::move(*soname), .path = std::move(*path)};
}

/// "2.36" in "GNU C Library (…) stable release version 2.36."
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
    // Some systems have no linker cache, or one without the C library.
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
