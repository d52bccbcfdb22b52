// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "report/api_table.h"

namespace gpuprobe {

/// What a soname says about whoever needs it, by what stands before ".so".
struct LibraryInfo {
    std::string_view stem = {};
    std::optional<Api> api = {};      ///< the API that a program with it computes through
    bool is_of_driver = false;        ///< the driver's own, or its loader: no product brings it
    bool tells_toolkit = false;       ///< its major version is CUDA's
    bool is_in_host_reports = false;  ///< a host's `libraries` lists it when it is there
};

/// Null for a soname that no row is about.
const LibraryInfo* library_info(std::string_view soname);

/// Whether a host's `libraries` lists this soname when it is there. A machine has thousands; these
/// are the ones that builds for GPUs link with and do not bring along.
bool is_listed_library(std::string_view soname);

/// Whether it belongs to the C library or the compiler's runtime, which whatever runs here has.
bool is_base_library(std::string_view soname);

}  // namespace gpuprobe
