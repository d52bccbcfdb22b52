// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "report/api_table.h"

namespace gpuprobe::inline report {

/// What a soname says about whoever needs it.
struct LibraryInfo {
    std::string_view stem = {};       ///< what stands before ".so" in the soname asked about
    std::optional<Api> api = {};      ///< the API that a program with it computes through
    bool is_of_driver = false;        ///< the driver's own, or its loader: no product brings it
    bool tells_toolkit = false;       ///< its major version is CUDA's
    bool is_in_host_reports = false;  ///< a host's `libraries` lists it when it is there
};

/// nullopt for a soname that neither an API's row nor another list is about.
std::optional<LibraryInfo> library_info(std::string_view soname);

/// Whether a host's `libraries` lists this soname when it is there. A machine has thousands; these
/// are the ones that builds for GPUs link with and do not bring along.
bool is_listed_library(std::string_view soname);

/// The API that a word for code is about ("sm_86", "gfx90a", "spirv"), or that it names; nullopt
/// for a word that is none.
std::optional<Api> api_of_code(std::string_view word);

/// Whether it belongs to the C library or the compiler's runtime, which whatever runs here has.
bool is_base_library(std::string_view soname);

}  // namespace gpuprobe::inline report
