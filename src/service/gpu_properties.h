// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "report/report.h"

namespace gpuprobe {

/// What the properties of a Gpu object say. D-Bus has no null: unknown is "" or 0 here.
struct GpuProperties {
    std::string id = {};
    std::string kind = {};
    std::string vendor = {};
    std::string name = {};
    std::string pci_address = {};
    std::uint32_t vendor_id = 0;
    std::uint32_t device_id = 0;
    std::string driver = {};
    std::uint64_t memory_total = 0;  ///< bytes
    std::string health = {};
    std::map<std::string, BackendView> backends = {};
    std::map<std::string, std::string> environment = {};
};

/// Texts are valid for the bus.
GpuProperties properties_of(const Gpu& gpu);

/// The bus names of the properties that differ and announce it.
std::vector<std::string> changed_properties(const GpuProperties& before,
                                            const GpuProperties& after);

/// Variables that make a graphical program use this GPU; none for one that only shows pictures.
/// Sources: Mesa, docs/envvars (DRI_PRIME=pci-…); NVIDIA driver README, "PRIME Render Offload".
std::map<std::string, std::string> launch_environment(const Gpu& gpu);

/// An id as one element of an object path: what is no letter or digit of ASCII becomes "_".
std::string path_element(std::string_view id);

/// The path of the GPU that programs should use, of those in `gpus` (best first); nullptr when none
/// can do more than show a picture.
const Gpu* default_gpu(const std::vector<Gpu>& gpus);

}  // namespace gpuprobe
