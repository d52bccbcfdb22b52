// SPDX-License-Identifier: Apache-2.0
#include "report/vendor.h"

#include <array>
#include <span>

#include "report/api_table.h"

namespace gpuprobe {
namespace {

struct Word {
    std::string_view key;
    std::string_view vendor;
};

constexpr std::array kVendorIds = std::to_array<Word>({
    {"1002", "amd"},      {"1010", "imagination"}, {"1013", "cirrus"},   {"1022", "amd"},
    {"102b", "matrox"},   {"106b", "apple"},       {"10de", "nvidia"},   {"1234", "qemu"},
    {"13b5", "arm"},      {"1414", "microsoft"},   {"14e4", "broadcom"}, {"15ad", "vmware"},
    {"19e5", "huawei"},   {"1a03", "aspeed"},      {"1af4", "virtio"},   {"1b36", "qemu"},
    {"1ed5", "mthreads"}, {"5143", "qualcomm"},    {"8086", "intel"},
});

constexpr std::array kKernelDrivers = std::to_array<Word>({
    {"amdgpu", "amd"},      {"asahi", "apple"},
    {"etnaviv", "vivante"}, {"gk20a", "nvidia"},
    {"i915", "intel"},      {"lima", "arm"},
    {"msm", "qualcomm"},    {"msm_dpu", "qualcomm"},
    {"nouveau", "nvidia"},  {"nvgpu", "nvidia"},
    {"nvidia", "nvidia"},   {"panfrost", "arm"},
    {"panthor", "arm"},     {"powervr", "imagination"},
    {"pvr", "imagination"}, {"radeon", "amd"},
    {"tegra", "nvidia"},    {"v3d", "broadcom"},
    {"vc4", "broadcom"},    {"xe", "intel"},
});

std::optional<std::string> looked_up(std::span<const Word> table, std::string_view key) {
    for (const auto& entry : table)
        if (entry.key == key)
            return std::string{entry.vendor};
    return std::nullopt;
}

}  // namespace

std::optional<std::string> vendor_word(std::string_view vendor_id) {
    return looked_up(kVendorIds, vendor_id);
}

std::optional<std::string> vendor_of(const HardwareDevice& device) {
    if (device.vendor_id)
        return vendor_word(*device.vendor_id);
    return device.driver ? looked_up(kKernelDrivers, *device.driver) : std::nullopt;
}

std::optional<std::string> vendor_of_api(std::string_view api) {
    const auto* row = find_api(api);
    return row && !row->vendor.empty() ? std::optional<std::string>{row->vendor} : std::nullopt;
}

}  // namespace gpuprobe
