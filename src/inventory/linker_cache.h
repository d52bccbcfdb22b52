// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace gpuprobe {

/// The sonames of 64-bit libraries in the text of /etc/ld.so.cache for that architecture (uname
/// -m), sorted, each once; nullopt for what is no such cache or is cut, and for other
/// architectures. Source: glibc, sysdeps/generic/dl-cache.h and ldconfig.h (struct cache_file_new).
std::optional<std::vector<std::string>> cached_sonames(std::string_view text,
                                                       std::string_view architecture);

/// Those that report/libraries.h lists. They are what the daemon's own linker finds: a container,
/// or a program with LD_LIBRARY_PATH, may see others.
std::optional<std::vector<std::string>> host_libraries(const FileSystem& files,
                                                       std::string_view architecture);

}  // namespace gpuprobe
