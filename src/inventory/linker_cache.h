// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Changes whenever a package installs or removes a library (ldconfig rewrites it).
constexpr std::string_view kLinkerCache = "/etc/ld.so.cache";

struct CachedLibrary {
    std::string soname = {};
    std::string path = {};
    auto operator<=>(const CachedLibrary&) const = default;
};

/// The 64-bit libraries in the text of /etc/ld.so.cache for that architecture (uname -m), sorted;
/// nullopt as in cached_sonames().
std::optional<std::vector<CachedLibrary>> cached_libraries(std::string_view text,
                                                           std::string_view architecture);

/// The sonames of 64-bit libraries in the text of /etc/ld.so.cache for that architecture (uname
/// -m), sorted, each once; nullopt for a text that is not such a cache or is cut short, and for
/// other architectures. Source: glibc, sysdeps/generic/dl-cache.h and ldconfig.h (struct
/// cache_file_new).
std::optional<std::vector<std::string>> cached_sonames(std::string_view text,
                                                       std::string_view architecture);

/// The C library that the dynamic linker gives to programs, for a program that has its own inside:
/// glibc with the version that its file names itself by, or musl, which names none; unknown without
/// either. Source: glibc, csu/version.c.
Libc libc_of_programs(const FileSystem& files, std::string_view architecture);

/// Where the dynamic linker finds each library whose soname starts with one of these; nullopt
/// where its cache can't be read.
std::optional<std::vector<std::string>> library_paths(const FileSystem& files,
                                                      std::string_view architecture,
                                                      const std::vector<std::string>& starts);

/// Those that report/libraries.h lists. They are what the daemon's own linker finds: a container,
/// or a program with LD_LIBRARY_PATH, may see others.
std::optional<std::vector<std::string>> host_libraries(const FileSystem& files,
                                                       std::string_view architecture);

}  // namespace gpuprobe::inline inventory
