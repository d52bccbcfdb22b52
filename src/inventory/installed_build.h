// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/api_table.h"

namespace gpuprobe::inline inventory {

/// A program or library of an installed build, together with the libraries of the same build that
/// it loads.
struct InstalledPart {
    std::string name = {};  ///< file name, relative to the build's folder
    /// The sonames of the libraries that the part needs and that the build does not contain, and an
    /// entry such as "glibc>=2.34".
    std::vector<std::string> needs = {};
    std::vector<std::string> bundles = {};  ///< sonames of GPU libraries that the build bundles
    /// The GPU targets, spelled as in ObjectFile::code, and the name of each API that the part
    /// uses.
    std::vector<std::string> kernels = {};
    bool operator==(const InstalledPart&) const = default;
};

/// The result of reading the files of an installed build.
struct InstalledBuild {
    std::vector<InstalledPart> parts = {};  ///< the parts that use GPUs, sorted by name
    std::vector<Api> apis = {};            ///< compute APIs that any part uses, in the order of Api
    std::vector<std::string> unread = {};  ///< "file: reason" for files that could not be read
};

/// The libraries of the machine on which the build would run, if they are known.
struct LinkerPlaces {
    /// The sonames that the dynamic linker finds, sorted. The sonames are used for libraries that
    /// reports do not contain.
    std::vector<std::string> sonames = {};
    /// True if absolute paths in the build's files refer to this machine and can therefore be
    /// checked.
    bool is_here = true;
};

constexpr std::size_t kMaxBuildFiles = 20000;
constexpr std::size_t kMaxBuildObjects = 4096;
constexpr std::size_t kMaxBuildDepth = 16;  ///< the maximum depth of nested folders
constexpr std::size_t kMaxBuildParts = 16;

/// Reads a program, a shared library, or a folder that contains programs and libraries. A library
/// counts as bundled if it is in the folder, or in a folder that the file itself names (RUNPATH,
/// $ORIGIN). The function never opens symbolic links in the folder, or files outside the folder.
///
/// Errors, each with the path: the codes NotFound, PermissionDenied and Io; Malformed for a file
/// that is neither a program nor a library, for a file that contradicts itself, and for a folder
/// without programs and libraries; TooLarge if a limit is exceeded.
Result<InstalledBuild> read_installed_build(const std::string& path, const LinkerPlaces& places);

}  // namespace gpuprobe::inline inventory
