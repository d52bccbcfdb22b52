// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/units.h"

/// The sysfs files in which kernel drivers expose facts about their devices:
/// data/knowledge/drivers.json.

namespace gpuprobe::knowledge {

/// The files of one kernel driver. File names are relative to the device's folder in `device_class`
/// or, if there is no `device_class`, to the device's own folder.
struct DriverFiles {
    std::string driver = {};  ///< the driver's name; "*" at the end matches any suffix
    std::optional<std::string> device_class = {};  ///< folder below /sys/class
    /// The file that contains the device's PCI address, for classes whose devices have no parent.
    std::optional<std::string> address = {};
    /// Paths of device nodes, separated by spaces. "{member}" is replaced by the device's name in
    /// its class; any other word in braces is replaced by the content of the file with this name. A
    /// path without a placeholder belongs to the whole driver, which then has only one device.
    std::optional<std::string> nodes = {};
    std::optional<std::string> name = {};
    std::optional<std::string> firmware = {};
    std::optional<std::string> memory = {};
    std::optional<std::uint64_t> memory_unit = {};  ///< unit of `memory` in bytes; 1 if missing
    std::optional<std::string> state = {};
    std::optional<std::string> ready = {};  ///< the content of `state` if the device is usable
    /// The file with the power limit. If no file is given, the power limit is read from hwmon.
    std::optional<std::string> power_limit = {};
    /// unit of the power limit in microwatts; 1 if missing
    std::optional<std::uint64_t> power_unit = {};
    /// file with the temperature in thousandths of a degree Celsius
    std::optional<std::string> temperature = {};
    /// type of the thermal zone that reports the temperature
    std::optional<std::string> thermal_zone = {};
    /// In the row for an additional function of a card, the driver of the function that represents
    /// the card.
    std::optional<std::string> part_of = {};
};

/// The branches of a vendor's driver that support a family of chips. A driver branch is the first
/// part of the driver's version.
struct DriverSupport {
    std::string driver = {};  ///< the vendor's driver; "l4t" is NVIDIA's Jetson Linux
    std::string chips = {};   ///< patterns of names in chips.json, separated by spaces
    /// The lowest compute capability of the family, which is used for GPUs whose chip is unknown.
    std::optional<std::string> since = {};
    /// the first branch that supports the chips; missing if it is older than all branches in use
    std::optional<std::string> first = {};
    /// the last branch that supports the chips; missing if the newest branch supports them
    std::optional<std::string> last = {};
    /// the newest CUDA version that the last branch supports
    std::optional<std::string> cuda = {};
    std::optional<std::string> flavour = {};  ///< the only flavor of the kernel module that works
};

class Drivers {
public:
    /// The table of the knowledge base in use; valid until another knowledge base is put into use.
    static const Drivers& current();
    /// Reads drivers.json. Errors: Malformed or TooLarge; the message names the row and member at
    /// fault.
    static Result<Drivers> from(std::string_view json);
    /// The row for a driver; nullptr if drivers.json has no row for the driver.
    [[nodiscard]] const DriverFiles* find(std::string_view driver) const;
    /// The branches of a vendor's driver that support GPUs with a given compute capability or, if
    /// no row fits, with a given chip; nullptr if the branches are unknown. `chip` and
    /// `compute_capability` may be empty.
    [[nodiscard]] const DriverSupport* support(std::string_view driver,
                                               const std::string& chip,
                                               std::string_view compute_capability) const;

private:
    std::vector<DriverFiles> rows_ = {};
    std::vector<DriverSupport> support_ = {};
};

// The parts of the kernel's configuration that a report includes: data/knowledge/setup.json. All
// other parts of the configuration are left out, because they may be private.

struct SetupWords {
    /// Modules of graphics drivers and accelerators, and modules that reserve a device for guests.
    /// The names are sorted and contain "_" instead of "-".
    std::vector<std::string> modules = {};
    std::vector<std::string> command_line = {};  ///< prefixes of words on the kernel's command line
    std::vector<std::string> parameters = {};    ///< module parameters, such as "amdgpu.gttsize"
    /// Names in /proc/driver/nvidia/params, which lists NVIDIA's parameters without the prefix
    /// "NVreg_".
    std::vector<std::string> nvidia_parameters = {};

    /// The table of the knowledge base in use; valid until another knowledge base is put into use.
    static const SetupWords& current();
    /// Reads setup.json. Errors: Malformed or TooLarge; the message names the member at fault.
    static Result<SetupWords> from(std::string_view json);
    [[nodiscard]] bool has_module(std::string_view name) const;
};

// GPU memory that a process uses before it allocates its first buffer:
// data/knowledge/contexts.json.

/// The source of the sizes in the row of a backend.
struct ContextSource {
    /// Machine on which the sizes were measured; null if not measured.
    std::optional<std::string> machine = {};
    std::optional<std::string> driver = {};
    std::string how = {};
    bool operator==(const ContextSource&) const = default;
};
RECORD_MEMBERS(ContextSource, machine, driver, how)

/// The memory that one backend needs for each process and GPU, in MiB.
struct ContextSize {
    std::string backend = {};
    /// the driver's context, as the probe stage "measure" measures it
    std::uint64_t context_mib = 0;
    std::uint64_t program_mib = 0;  ///< kernels and workspaces that llama.cpp adds
    ContextSource source = {};
    bool operator==(const ContextSize&) const = default;

    [[nodiscard]] Bytes context() const { return mib(context_mib); }
    [[nodiscard]] Bytes program() const { return mib(program_mib); }
};
RECORD_MEMBERS(ContextSize, backend, context_mib, program_mib, source)

class Contexts {
public:
    /// The table of the knowledge base in use. The reference is valid until another knowledge base
    /// is put into use. If the data file has no row for a backend, the table contains the built-in
    /// row for this backend.
    static const Contexts& current();
    /// Reads contexts.json. Does not check whether the backends exist, so the caller must do this.
    /// Errors: Malformed or TooLarge; the message names the row and member at fault.
    static Result<Contexts> from(std::string_view json);
    /// The row of the backend with the given name; nullptr if nothing is known about the backend.
    /// If nothing is known about a backend, count no memory.
    [[nodiscard]] const ContextSize* find(std::string_view backend) const;
    [[nodiscard]] const std::vector<ContextSize>& rows() const { return rows_; }

private:
    void add_missing(const Contexts& others);

    std::vector<ContextSize> rows_ = {};
};

}  // namespace gpuprobe::knowledge
