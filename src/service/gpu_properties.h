// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/value.h"
#include "report/report.h"

namespace gpuprobe::inline service {

/// What an API says of a GPU, without the facts: some of those are not for all.
struct ApiAnswer {
    Outcome outcome = Outcome::Absent;
    std::vector<Reason> reasons = {};
    bool operator==(const ApiAnswer&) const = default;
};
RECORD_MEMBERS(ApiAnswer, outcome, reasons)

/// What the properties of a Gpu object say. D-Bus has no null: unknown is "" or 0 here.
struct GpuProperties {
    std::string id = {};
    std::string kind = {};
    std::string vendor = {};
    std::string name = {};
    std::string title = {};  ///< the name as people say it
    std::string pci_address = {};
    std::uint32_t vendor_id = 0;
    std::uint32_t device_id = 0;
    std::string driver = {};
    std::uint64_t memory_total = 0;  ///< bytes
    std::string health = {};
    std::map<std::string, BackendView> backends = {};
    std::map<std::string, ApiAnswer> apis = {};
    std::map<std::string, std::string> environment = {};
    std::vector<Unit> units = {};
};

/// Texts are valid for the bus. `open_to_all`: the machine as somebody sees it who may open nothing
/// that is not open to everybody. Properties are for all, so the environment names GPUs only by
/// what it tells.
GpuProperties properties_of(const Gpu& gpu, const Report& open_to_all);
/// The report as `open_to_all`.
Report open_to_all(const Report& report);

/// The bus names of the properties that differ and announce it. `has_other_words`: what helps is
/// another thing than was told.
std::vector<std::string> changed_properties(const GpuProperties& before,
                                            const GpuProperties& after,
                                            bool has_other_words);

/// An id as one element of an object path: what is no letter or digit of ASCII becomes "_".
std::string path_element(std::string_view id);

/// The path by which answers name a unit of the GPU at `path`. No object is there.
std::string unit_path(const std::string& path, std::string_view name);

}  // namespace gpuprobe::inline service
