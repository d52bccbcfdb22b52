// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl_refusal.h"

#include "backends/opencl/opencl_names.h"

namespace gpuprobe {
namespace {

ReasonCode code_of(cl_int error) {
    switch (error) {
        case CL_COMPILER_NOT_AVAILABLE:
        case CL_LINKER_NOT_AVAILABLE:
            return "compiler-missing";
        case CL_BUILD_PROGRAM_FAILURE:
        case CL_COMPILE_PROGRAM_FAILURE:
        case CL_LINK_PROGRAM_FAILURE:
            return "build-failed";
        case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        case CL_OUT_OF_RESOURCES:
        case CL_OUT_OF_HOST_MEMORY:
            return "out-of-memory";
        case CL_DEVICE_NOT_AVAILABLE:
            return "device-lost";
        default:
            return "api-refused";
    }
}

}  // namespace

Refusal opencl_refusal(std::string_view call, cl_int error) {
    return refused_call(code_of(error), call, opencl_error_name(error), error);
}

}  // namespace gpuprobe
