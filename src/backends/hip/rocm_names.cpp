// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/rocm_names.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

constexpr std::size_t kSerialDigits = 16;
constexpr int kMajorStep = 10'000'000;
constexpr int kMinorStep = 100'000;

bool are_hexadecimal(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::optional<std::string> rocm_uuid(std::string_view text) {
    constexpr std::string_view kHead = "GPU-";
    if (text.starts_with(kHead))
        text.remove_prefix(kHead.size());
    const auto digits = lower_case(text);
    if (digits.size() != kSerialDigits || !are_hexadecimal(digits) ||
        digits.find_first_not_of('0') == std::string::npos)
        return std::nullopt;
    return std::string{kHead} + digits;
}

std::optional<std::string> rocm_target(std::string_view agent_name) {
    constexpr std::string_view kHead = "gfx";
    const auto target = agent_name.substr(0, agent_name.find(':'));
    if (!target.starts_with(kHead))
        return std::nullopt;
    const auto digits = target.substr(kHead.size());
    if (digits.size() < 3 || digits.size() > 5 || !are_hexadecimal(digits))
        return std::nullopt;
    return std::string{target};
}

PciAddress rocm_address(std::uint32_t domain, std::uint32_t location) {
    return PciAddress{.domain = domain,
                      .bus = static_cast<std::uint8_t>(location >> 8U & 0xffU),
                      .device = static_cast<std::uint8_t>(location >> 3U & 0x1fU),
                      .function = static_cast<std::uint8_t>(location & 0x7U)};
}

std::optional<std::string> hip_version_text(int version) {
    if (version <= 0)
        return std::nullopt;
    return std::to_string(version / kMajorStep) + "." +
           std::to_string(version % kMajorStep / kMinorStep) + "." +
           std::to_string(version % kMinorStep);
}

}  // namespace gpuprobe::backends
