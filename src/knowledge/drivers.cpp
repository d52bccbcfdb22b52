// SPDX-License-Identifier: Apache-2.0
#include "knowledge/drivers.h"

#include <algorithm>

#include "knowledge/documents.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kDriversSchema = "gpuprobe.drivers/1";

struct DriversDocument {
    std::string schema = {};
    std::vector<DriverFiles> drivers = {};
};

/// Whether the row is about the driver. A row name that ends with "*" is a prefix.
bool is_about(const DriverFiles& row, std::string_view driver) {
    const std::string_view name = row.driver;
    return name.ends_with('*') ? driver.starts_with(name.substr(0, name.size() - 1))
                               : driver == name;
}

}  // namespace

RECORD_MEMBERS(DriverFiles, driver, ("class", device_class), address, nodes, name, firmware, memory,
               memory_unit, state, ready, power_limit, power_unit, temperature, thermal_zone,
               part_of)

namespace {

RECORD_MEMBERS(DriversDocument, schema, drivers)

}  // namespace

const Drivers& Drivers::current() {
    return table_in_use<Drivers>("drivers");
}

Result<Drivers> Drivers::from(std::string_view json) {
    auto document = TRY(document_from<DriversDocument>(json, kDriversSchema));
    // A unit of 0 would turn every reading into 0.
    for (const auto& row : document.drivers)
        if (row.memory_unit == 0U || row.power_unit == 0U)
            return Error{ErrorCode::Malformed,
                         "drivers: " + row.driver +
                             (row.memory_unit == 0U ? ": memory_unit: 0" : ": power_unit: 0")};
    Drivers drivers;
    drivers.rows_ = std::move(document.drivers);
    return drivers;
}

const DriverFiles* Drivers::find(std::string_view driver) const {
    // The first matching row counts, so rows with a full name must precede prefixes.
    const auto row = std::ranges::find_if(
        rows_, [driver](const DriverFiles& files) { return is_about(files, driver); });
    return row == rows_.end() ? nullptr : &*row;
}

}  // namespace gpuprobe::knowledge
