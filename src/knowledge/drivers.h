// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Where a kernel driver shows what in sysfs: data/knowledge/drivers.json.
namespace gpuprobe::knowledge {

/// Names of files are those in the device's folder of `device_class`, or else in the device's own.
struct DriverFiles {
    std::string driver = {};  ///< its name; one with "*" at its end is a prefix
    std::optional<std::string> device_class = {};  ///< folder below /sys/class
    /// The file with the device's PCI address, for classes whose devices have no parent.
    std::optional<std::string> address = {};
    /// Paths, separated by spaces. "{member}" stands for the device's name in its class, another
    /// word for that file's text. One without either is the driver's, which then has one device.
    std::optional<std::string> nodes = {};
    std::optional<std::string> name = {};
    std::optional<std::string> firmware = {};
    std::optional<std::string> memory = {};
    std::optional<std::uint64_t> memory_unit = {};  ///< bytes; 1 where none is given
    std::optional<std::string> state = {};
    std::optional<std::string> ready = {};  ///< what `state` says when the device can be used
    /// What the device may draw; hwmon says it where this is not given.
    std::optional<std::string> power_limit = {};
    std::optional<std::uint64_t> power_unit = {};  ///< microwatts; 1 where none is given
    std::optional<std::string> temperature = {};   ///< in thousandths of a degree Celsius
    std::optional<std::string> thermal_zone = {};  ///< its type, where that has the temperature
    /// The driver of the function that stands for the card, where this is another one of it.
    std::optional<std::string> part_of = {};
};

class Drivers {
public:
    /// What is in use, until another library is.
    static const Drivers& current();
    /// Errors: Malformed, TooLarge, with the row and member at fault.
    static Result<Drivers> from(std::string_view json);
    /// nullptr for a driver that shows nothing of its own.
    [[nodiscard]] const DriverFiles* find(std::string_view driver) const;

private:
    std::vector<DriverFiles> rows_ = {};
};

}  // namespace gpuprobe::knowledge
