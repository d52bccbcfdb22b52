// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "report/api_table.h"

namespace gpuprobe::inline report {

/// Information that a soname gives about the program that needs it.
struct LibraryInfo {
    std::string_view stem = {};   ///< the part before ".so" in the soname
    std::optional<Api> api = {};  ///< the API that a program linked with it computes through
    bool is_of_driver =
        false;  ///< from the driver or its loader; never bundled with an application
    bool tells_toolkit = false;       ///< its major version is the version of CUDA
    bool is_in_host_reports = false;  ///< Host::libraries lists it if it is installed
};

/// Information about a soname; nullopt if neither an API's row nor another list has it.
std::optional<LibraryInfo> library_info(std::string_view soname);

/// Whether Host::libraries lists this soname if it is installed. Machines have thousands of
/// libraries; this list has those that GPU builds link with and do not bundle.
bool is_listed_library(std::string_view soname);

/// The API of a kernel target ("sm_86", "gfx90a", "spirv") or of an API name; nullopt if the word
/// is neither.
std::optional<Api> api_of_code(std::string_view word);

/// Whether the soname belongs to the C library or the compiler's runtime, which every program on
/// the host has.
bool is_base_library(std::string_view soname);

}  // namespace gpuprobe::inline report
