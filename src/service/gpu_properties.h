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

/// The result of an API for a GPU, without its facts, because not all users may see all facts.
struct ApiAnswer {
    Outcome outcome = Outcome::Absent;
    std::vector<Reason> reasons = {};
    bool operator==(const ApiAnswer&) const = default;
};
RECORD_MEMBERS(ApiAnswer, outcome, reasons)

/// The values of a Gpu object's properties. D-Bus has no null, so unknown values are "" or 0.
struct GpuProperties {
    std::string id = {};
    std::string kind = {};
    std::string vendor = {};
    std::string name = {};
    std::string title = {};  ///< name to show to users, from gpu_title()
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

/// The properties of a GPU, with texts that are valid on the bus. `open_to_all`: the result of
/// open_to_all(). All users can read properties, so environment variables identify GPUs only by
/// facts from that report.
GpuProperties properties_of(const Gpu& gpu, const Report& open_to_all);
/// The report as seen by a user who may open only the nodes that all users may open.
Report open_to_all(const Report& report);

/// The bus names of the properties that changed and emit change signals. `has_other_words`: the
/// suggested fixes have changed.
std::vector<std::string> changed_properties(const GpuProperties& before,
                                            const GpuProperties& after,
                                            bool has_other_words);

/// The id as an element of an object path: each byte that is not an ASCII letter or digit becomes
/// "_".
std::string path_element(std::string_view id);

/// The path that identifies a partition of the GPU at `path`. No object is exported there.
std::string unit_path(const std::string& path, std::string_view name);

}  // namespace gpuprobe::inline service
