// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The size limit for /proc/cpuinfo, which contains one or two kilobytes for each processor, on
/// machines with up to thousands of processors.
constexpr Bytes kMaxCpuinfo = mib(8);

/// Parses the content of /proc/cpuinfo.
///
/// The kernel lists a feature in this file only if programs can use the feature: the kernel leaves
/// out AVX and AVX-512 if it does not save their registers (XSAVE off, `clearcpuid=`, a microcode
/// mitigation), which CPUID does not show. Therefore `level` is the level that the operating system
/// supports, and a captured machine gives the same result as the machine itself.
///
/// `cores` is the number of listed processors. Only online processors are listed.
Cpu parse_cpuinfo(std::string_view text);

/// The number of processors in a list such as "0-3,8"; nullopt for any other string. Source:
/// Documentation/admin-guide/cputopology.rst.
std::optional<std::uint32_t> processors_in(std::string_view list);

/// The folders in which distributions and containers install the libraries of drivers, in search
/// order. Folders for the native word size come first.
std::vector<std::string> library_folders(const Host& host);

/// The dynamic linker's cache. ldconfig rewrites the cache whenever a package installs or removes a
/// library.
constexpr std::string_view kLinkerCache = "/etc/ld.so.cache";

/// The sonames of the 64-bit libraries in the content of /etc/ld.so.cache for an architecture
/// (uname -m), sorted and without duplicates; nullopt if the content is truncated or has another
/// format, or if the architecture is unknown. Source: glibc, sysdeps/generic/dl-cache.h and
/// ldconfig.h (struct cache_file_new).
std::optional<std::vector<std::string>> cached_sonames(std::string_view text,
                                                       std::string_view architecture);

/// The C library that the dynamic linker loads for programs on this machine: glibc with the version
/// in its file, or musl, whose file contains no version; unknown if neither is found. Builds of
/// gpuprobe that contain a C library need this function. Source: glibc, csu/version.c.
Libc libc_of_programs(const FileSystem& files, std::string_view architecture);

/// The path of each library whose soname starts with one of `starts`, according to the linker's
/// cache; nullopt if the cache cannot be read.
std::optional<std::vector<std::string>> library_paths(const FileSystem& files,
                                                      std::string_view architecture,
                                                      const std::vector<std::string>& starts);

/// The machine's sonames that report/api_table.h lists; nullopt if the cache cannot be read. The
/// daemon's linker finds these libraries. A container, or a program with LD_LIBRARY_PATH, may find
/// other libraries.
std::optional<std::vector<std::string>> host_libraries(const FileSystem& files,
                                                       std::string_view architecture);

}  // namespace gpuprobe::inline inventory
