// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/rocm_names.h"

#include <algorithm>

#include "backends/texts.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

constexpr std::size_t kSerialDigits = 16;
constexpr unsigned kMajorStep = 10'000'000;
constexpr unsigned kMinorStep = 100'000;

}  // namespace

std::optional<std::string> rocm_uuid(std::string_view text) {
    constexpr std::string_view kHead = "GPU-";
    if (text.starts_with(kHead))
        text.remove_prefix(kHead.size());
    const auto digits = lower_case(text);
    if (digits.size() != kSerialDigits ||
        digits.find_first_not_of("0123456789abcdef") != std::string::npos ||
        digits.find_first_not_of('0') == std::string::npos)
        return std::nullopt;
    return std::string{kHead} + digits;
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
    const auto number = static_cast<unsigned>(version);
    return dotted({number / kMajorStep, number % kMajorStep / kMinorStep, number % kMinorStep});
}

}  // namespace gpuprobe::backends
