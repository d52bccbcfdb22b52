// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/level_zero_names.h"

#include <array>

#include "backends/hexadecimal.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

struct CodeName {
    ze::Result code;
    std::string_view name;
};
/// Source: ze_api.h, ze_result_t.
constexpr std::array<CodeName, 10> kCodes = {{
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

std::string_view name_of_code(ze::Result code) {
    for (const auto& entry : kCodes)
        if (entry.code == code)
            return entry.name;
    return "unknown code";
}

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
    return std::to_string(version >> 16U) + "." + std::to_string(version & 0xffffU);
}

std::optional<std::string> level_zero_driver_version(std::uint32_t version) {
    if (version == 0)
        return std::nullopt;
    return std::to_string(version >> 24U) + "." + std::to_string(version >> 16U & 0xffU) + "." +
           std::to_string(version & 0xffffU);
}

std::optional<std::string> level_zero_ip_text(std::uint32_t version) {
    if (version == 0)
        return std::nullopt;
    return std::to_string(version >> 22U) + "." + std::to_string(version >> 14U & 0xffU) + "." +
           std::to_string(version & 0x3fU);
}

std::optional<PciAddress> level_zero_address(std::uint32_t domain,
                                             std::uint32_t bus,
                                             std::uint32_t device,
                                             std::uint32_t function) {
    if (bus > 0xff || device > 0x1f || function > 7)
        return std::nullopt;
    return PciAddress{.domain = domain,
                      .bus = static_cast<std::uint8_t>(bus),
                      .device = static_cast<std::uint8_t>(device),
                      .function = static_cast<std::uint8_t>(function)};
}

std::optional<std::string> level_zero_text(std::string_view array) {
    auto text = scrubbed(trimmed(array.substr(0, array.find('\0'))));
    return text.empty() ? std::nullopt : std::optional{std::move(text)};
}

Answer level_zero_refusal(std::string_view api, std::string_view call, ze::Result code) {
    auto note = std::string{call} + ": " + std::string{name_of_code(code)} + " (0x" +
                hexadecimal(code, 8) + ")";
    if (code == ze::kUninitialized)
        return Answer{.outcome = Outcome::Absent,
                      .note = std::move(note),
                      .reasons = {because("no-device", {{"api", Value{api}}})}};
    return Answer{.outcome = Outcome::Failed,
                  .note = std::move(note),
                  .reasons = {because("api-refused", {{"call", Value{call}}, {"code", code}})}};
}

Answer level_zero_without_devices(std::string_view api) {
    return Answer{.outcome = Outcome::Absent,
                  .note = "no driver lists a device",
                  .reasons = {because("no-device", {{"api", Value{api}}})}};
}

}  // namespace gpuprobe::backends
