// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/level_zero_names.h"

#include <array>

#include "backends/texts.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

/// Source: ze_api.h, ze_result_t.
constexpr std::array<NumberWord, 10> kCodes = {{
    {0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST"},
    {0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
    {0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
    {0x70000004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
    {0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
    {0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
    {0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"},
    {ze::kUninitialized, "ZE_RESULT_ERROR_UNINITIALIZED"},
    {0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},
    {0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
}};

}  // namespace

std::optional<std::string> level_zero_kind_word(ze::DeviceKind kind) {
    constexpr std::array<std::string_view, 6> kWords = {"", "gpu", "cpu", "fpga", "mca", "npu"};
    const auto number = static_cast<std::uint32_t>(kind);
    if (number == 0)
        return std::nullopt;
    if (number >= kWords.size())
        return std::to_string(number);
    return std::string{kWords[number]};
}

std::optional<DeviceType> level_zero_type(ze::DeviceKind kind, std::uint32_t flags) {
    if (kind == ze::DeviceKind{})
        return std::nullopt;
    if (kind == ze::DeviceKind::Cpu)
        return DeviceType::Cpu;
    if (kind != ze::DeviceKind::Gpu)
        return DeviceType::Other;
    return flags & ze::kDeviceIntegrated ? DeviceType::Integrated : DeviceType::Discrete;
}

std::optional<std::string> level_zero_version(std::uint32_t version) {
    if (version == 0)
        return std::nullopt;
    return dotted({version >> 16U, version & 0xffffU});
}

std::optional<std::string> level_zero_driver_version(std::uint32_t version) {
    if (version == 0)
        return std::nullopt;
    return dotted({version >> 24U, version >> 16U & 0xffU, version & 0xffffU});
}

Answer level_zero_refusal(std::string_view api, std::string_view call, ze::Result code) {
    const auto words =
        word_for(kCodes, code).value_or("unknown code") + " (0x" + hexadecimal(code, 8) + ")";
    const auto refusal = refused_call("api-refused", call, words, code);
    if (code == ze::kUninitialized)
        return without_devices(refusal.note, {{"api", Value{api}}});
    return answer_of(refusal);
}

}  // namespace gpuprobe::backends
