// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The maximum size of /proc/cpuinfo, which contains one or two kilobytes for each processor, on
/// machines with up to thousands of processors.
constexpr Bytes kMaxCpuinfo = mib(8);

/// Parses the content of /proc/cpuinfo.
///
/// The kernel lists a feature in /proc/cpuinfo only if programs can use the feature: the kernel
/// leaves out AVX and AVX-512 if it does not save their registers (XSAVE off, `clearcpuid=`, a
/// microcode mitigation), which CPUID does not show. Therefore `level` is the level that the
/// operating system supports, and a captured machine gives the same result as the machine itself.
///
/// `cores` is the number of processors that /proc/cpuinfo lists. /proc/cpuinfo lists only online
/// processors.
Cpu parse_cpuinfo(std::string_view text);

/// The number of processors in a list such as "0-3,8"; nullopt for any other string. Source:
/// Documentation/admin-guide/cputopology.rst.
std::optional<std::uint32_t> processors_in(std::string_view list);

/// The folders in which distributions and containers install the libraries of drivers, in search
/// order. Folders for the machine's native word size come first.
std::vector<std::string> library_folders(const Host& host);

/// The dynamic linker's cache. ldconfig rewrites the cache whenever a package installs or removes a
/// library.
constexpr std::string_view kLinkerCache = "/etc/ld.so.cache";

/// The sonames of the 64-bit libraries for an architecture (uname -m) in the content of
/// /etc/ld.so.cache, sorted and without duplicates; nullopt if the content is truncated or has
/// another format, or if the architecture is unknown. Source: glibc, sysdeps/generic/dl-cache.h and
/// ldconfig.h (struct cache_file_new).
std::optional<std::vector<std::string>> cached_sonames(std::string_view text,
                                                       std::string_view architecture);

/// The C library that the dynamic linker loads for programs on this machine: glibc with the version
/// that its file contains, or musl, whose file contains no version; unknown if neither library is
/// found. Builds of gpuprobe that contain their own C library need this function. Source: glibc,
/// csu/version.c.
Libc libc_of_programs(const FileSystem& files, std::string_view architecture);

/// The path of each library whose soname begins with one of `starts`, according to the linker's
/// cache; nullopt if the cache cannot be read.
std::optional<std::vector<std::string>> library_paths(const FileSystem& files,
                                                      std::string_view architecture,
                                                      const std::vector<std::string>& starts);

/// The sonames in the linker's cache that report/api_table.h lists; nullopt if the cache cannot be
/// read. The daemon's dynamic linker finds the libraries in this cache. A container, or a program
/// with LD_LIBRARY_PATH, may find libraries that aren't in the cache.
std::optional<std::vector<std::string>> host_libraries(const FileSystem& files,
                                                       std::string_view architecture);

}  // namespace gpuprobe::inline inventory
