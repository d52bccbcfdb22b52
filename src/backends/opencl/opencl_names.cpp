// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl_names.h"

#include <array>

#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

struct ErrorWord {
    cl_int number = 0;
    std::string_view word = {};
};

constexpr std::array kErrors = {
    ErrorWord{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    ErrorWord{CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    ErrorWord{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    ErrorWord{CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    ErrorWord{CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    ErrorWord{CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    ErrorWord{CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    ErrorWord{CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    ErrorWord{CL_INVALID_DEVICE_TYPE, "CL_INVALID_DEVICE_TYPE"},
    ErrorWord{CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    ErrorWord{CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    ErrorWord{CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    ErrorWord{CL_PLATFORM_NOT_FOUND_KHR, "CL_PLATFORM_NOT_FOUND_KHR"},
};

bool is_lower_hexadecimal(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string opencl_error_name(cl_int error) {
    for (const ErrorWord& entry : kErrors)
        if (entry.number == error)
            return std::string{entry.word};
    return "OpenCL error " + std::to_string(error);
}

std::string packed_version_text(cl_version version) {
    return std::to_string(version >> 22) + "." + std::to_string((version >> 12) & 0x3ff) + "." +
           std::to_string(version & 0xfff);
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
    return std::to_string(*major) + "." + std::to_string(*minor);
}

std::string intel_ip_text(cl_uint version) {
    return std::to_string(version >> 22) + "." + std::to_string((version >> 14) & 0xff) + "." +
           std::to_string(version & 0x3f);
}

std::optional<std::string> gfx_target_in(std::string_view device_name) {
    constexpr std::string_view kPrefix = "gfx";
    const auto target = device_name.substr(0, device_name.find(':'));
    if (!target.starts_with(kPrefix))
        return std::nullopt;
    const auto digits = target.substr(kPrefix.size());
    if (digits.size() < 3 || digits.size() > 5 || !is_lower_hexadecimal(digits))
        return std::nullopt;
    return std::string{target};
}

Value svm_words(cl_device_svm_capabilities capabilities) {
    constexpr std::array<std::pair<cl_device_svm_capabilities, std::string_view>, 4> kWords = {{
        {CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, "coarse-grain-buffer"},
        {CL_DEVICE_SVM_FINE_GRAIN_BUFFER, "fine-grain-buffer"},
        {CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, "fine-grain-system"},
        {CL_DEVICE_SVM_ATOMICS, "atomics"},
    }};
    Value::Array list;
    for (const auto& [bit, word] : kWords)
        if ((capabilities & bit) != 0)
            list.push_back(Value{word});
    return Value{std::move(list)};
}

}  // namespace gpuprobe::backends
