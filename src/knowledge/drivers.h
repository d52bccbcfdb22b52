// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Files in sysfs in which each kernel driver shows facts about its devices:
/// data/knowledge/drivers.json.
namespace gpuprobe::knowledge {

/// The files of one kernel driver. File names are relative to the device's folder in
/// `device_class`, or else to the device's own folder.
struct DriverFiles {
    std::string driver = {};  ///< the driver's name; a "*" at the end matches any rest
    std::optional<std::string> device_class = {};  ///< folder below /sys/class
    /// The file that contains the device's PCI address, for classes whose devices have no parent.
    std::optional<std::string> address = {};
    /// Paths of device nodes, separated by spaces. "{member}" is replaced by the device's name in
    /// its class; any other word in braces by the text of the file of that name. A path without a
    /// placeholder belongs to the driver as a whole, which then has only one device.
    std::optional<std::string> nodes = {};
    std::optional<std::string> name = {};
    std::optional<std::string> firmware = {};
    std::optional<std::string> memory = {};
    std::optional<std::uint64_t> memory_unit = {};  ///< bytes; 1 if missing
    std::optional<std::string> state = {};
    std::optional<std::string> ready = {};  ///< the text of `state` when the device is usable
    /// The power limit. If missing, the limit is read from hwmon.
    std::optional<std::string> power_limit = {};
    std::optional<std::uint64_t> power_unit = {};  ///< microwatts; 1 if missing
    std::optional<std::string> temperature = {};   ///< in thousandths of a degree Celsius
    /// type of the thermal zone that has the temperature
    std::optional<std::string> thermal_zone = {};
    /// For a further function of a card: the driver of the function that represents the card.
    std::optional<std::string> part_of = {};
};

class Drivers {
public:
    /// The table of the knowledge base in use; valid until another one is put in use.
    static const Drivers& current();
    /// Reads drivers.json. Errors: Malformed, TooLarge, with the row and member at fault.
    static Result<Drivers> from(std::string_view json);
    /// The row for a driver; nullptr if the driver shows nothing special.
    [[nodiscard]] const DriverFiles* find(std::string_view driver) const;

private:
    std::vector<DriverFiles> rows_ = {};
};

}  // namespace gpuprobe::knowledge
