// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/names.h"

#include <array>

#include "backends/texts.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

constexpr std::array kErrors = {
    NumberWord{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    NumberWord{CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    NumberWord{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    NumberWord{CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    NumberWord{CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    NumberWord{CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    NumberWord{CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    NumberWord{CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    NumberWord{CL_INVALID_DEVICE_TYPE, "CL_INVALID_DEVICE_TYPE"},
    NumberWord{CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    NumberWord{CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    NumberWord{CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    NumberWord{CL_PLATFORM_NOT_FOUND_KHR, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

std::string opencl_error_name(cl_int error) {
    return word_for(kErrors, error).value_or("OpenCL error " + std::to_string(error));
}

std::string packed_version_text(cl_version version) {
    return dotted({version >> 22, version >> 12 & 0x3ff, version & 0xfff});
}

std::optional<std::string> api_version_in(std::string_view text) {
    const auto pieces = words(text);
    if (pieces.size() < 2 || pieces[0] != "OpenCL")
        return std::nullopt;
    const auto numbers = split(pieces[1], '.');
    if (numbers.size() != 2)
        return std::nullopt;
    const auto major = parse_number<unsigned>(numbers[0]);
    const auto minor = parse_number<unsigned>(numbers[1]);
    if (!major || !minor)
        return std::nullopt;
    return dotted({*major, *minor});
}

Value svm_words(cl_device_svm_capabilities capabilities) {
    constexpr std::array kWords = {
        NumberWord{CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, "coarse-grain-buffer"},
        NumberWord{CL_DEVICE_SVM_FINE_GRAIN_BUFFER, "fine-grain-buffer"},
        NumberWord{CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, "fine-grain-system"},
        NumberWord{CL_DEVICE_SVM_ATOMICS, "atomics"},
    };
    return words_of_bits(kWords, capabilities);
}

}  // namespace gpuprobe::backends
