// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/api_table.h"

namespace gpuprobe::inline inventory {

/// One program or library of a build, with the files beside it that it needs.
struct InstalledPart {
    std::string name = {};                 ///< its file, as seen from the build's folder
    std::vector<std::string> needs = {};   ///< sonames that the build lacks, and "glibc>=2.34"
    std::vector<std::string> brings = {};  ///< sonames of GPU libraries that it has
    /// As ObjectFile::code, and the word of each API that it uses.
    std::vector<std::string> code = {};
    bool operator==(const InstalledPart&) const = default;
};

/// What the files of a build say.
struct InstalledBuild {
    std::vector<InstalledPart> parts = {};  ///< those that use GPUs, by name
    std::vector<Api> apis = {};             ///< that any of them computes through, in their order
    std::vector<std::string> unread = {};   ///< "file: reason" of those that could not be read
};

/// Where the build would run, as far as that is this machine.
struct LinkerPlaces {
    /// Sonames that the dynamic linker finds, sorted. What no report lists is looked up here.
    std::vector<std::string> sonames = {};
    /// Whether absolute paths in the files are of the machine that is asked about.
    bool is_here = true;
};

constexpr std::size_t kMaxBuildFiles = 20000;
constexpr std::size_t kMaxBuildObjects = 4096;
constexpr std::size_t kMaxBuildDepth = 16;  ///< folders below each other
constexpr std::size_t kMaxBuildParts = 16;

/// Reads a program, a shared library, or a folder of them. A library that is found in the folder,
/// or in a place that the file itself names (RUNPATH, $ORIGIN), is brought along. Symbolic links in
/// the folder are not followed, and no file outside it is opened.
///
/// Errors, each with the path: NotFound, PermissionDenied, Io; Malformed for a file that is no
/// program or library, or contradicts itself, and for a folder without any; TooLarge over a limit.
Result<InstalledBuild> read_installed_build(const std::string& path, const LinkerPlaces& places);

}  // namespace gpuprobe::inline inventory
