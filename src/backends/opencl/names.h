// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/opencl/api.h"
#include "base/value.h"

/// OpenCL's numbers as the words and texts that facts carry.
namespace gpuprobe::backends {

/// "CL_DEVICE_NOT_FOUND"; "OpenCL error -77" for one that has no name here.
std::string opencl_error_name(cl_int error);

/// "3.0.0" of a packed cl_version: 10, 10 and 12 bits. Source: OpenCL 3.0 API, cl_version.
std::string packed_version_text(cl_version version);

/// "3.0" of "OpenCL 3.0 PoCL 3.1"; nullopt for anything else. Source: OpenCL 3.0 API,
/// CL_DEVICE_VERSION: "OpenCL<space><major.minor><space><vendor-specific>".
std::optional<std::string> api_version_in(std::string_view text);

/// The words for the set bits of CL_DEVICE_SVM_CAPABILITIES.
Value svm_words(cl_device_svm_capabilities capabilities);

}  // namespace gpuprobe::backends
