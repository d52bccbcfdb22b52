// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"

/// Facts about hardware that are known without loading a vendor driver: data/knowledge/chips.json.
namespace gpuprobe::knowledge {

/// The use of a device for its owner.
enum class Role {
    Gpu,
    Accelerator,
    Display,     ///< drives a display and cannot compute
    Neither,     ///< a second display head, a power unit, a test device
    Passthrough  ///< a driver that reserves the device for a virtual machine
};
constexpr auto names_of(Role) {
    return std::to_array<EnumName<Role>>({{Role::Gpu, "gpu"},
                                          {Role::Accelerator, "accelerator"},
                                          {Role::Display, "display"},
                                          {Role::Neither, "neither"},
                                          {Role::Passthrough, "passthrough"}});
}

enum class Form { Discrete, Integrated, VirtualFunction, Paravirtual };
constexpr auto names_of(Form) {
    return std::to_array<EnumName<Form>>({{Form::Discrete, "discrete"},
                                          {Form::Integrated, "integrated"},
                                          {Form::VirtualFunction, "virtual-function"},
                                          {Form::Paravirtual, "paravirtual"}});
}

enum class ChipMemory {
    Dedicated,
    Shared,  ///< host memory, a part of which may be reserved for the GPU
    Unified  ///< one memory for processor and GPU, without a reserved part
};
constexpr auto names_of(ChipMemory) {
    return std::to_array<EnumName<ChipMemory>>({{ChipMemory::Dedicated, "dedicated"},
                                                {ChipMemory::Shared, "shared"},
                                                {ChipMemory::Unified, "unified"}});
}

/// A vendor of GPUs or accelerators.
struct Maker {
    std::string maker = {};    ///< the vendor's id: "nvidia"
    std::string name = {};     ///< display name: "NVIDIA"
    std::string vendors = {};  ///< PCI vendor ids, four hexadecimal digits, separated by spaces
    std::string makes = {};    ///< names of Role, separated by spaces

    [[nodiscard]] bool makes_any(Role role) const;
};

/// One row of the table: about PCI device ids, about a compatible string, or about a kernel driver.
/// Unknown facts are empty.
struct Chip {
    std::optional<std::string> vendor = {};  ///< PCI vendor id
    /// "73a0-73a5 73bf"; "*" for all other ids of the class
    std::optional<std::string> ids = {};
    std::optional<std::string> pci_class = {};   ///< class and subclass: "0302"
    std::optional<std::string> compatible = {};  ///< compatible string in the device tree
    std::optional<std::string> driver = {};      ///< kernel driver
    std::optional<std::string> maker = {};
    std::optional<std::string> chip = {};  ///< "navi21"
    std::optional<std::string> name = {};  ///< display name, for devices that pci.ids does not list
    std::optional<Role> role = {};
    std::optional<std::string> kind = {};  ///< kind of accelerator: "npu", "training" …
    std::optional<Form> form = {};
    std::optional<ChipMemory> memory = {};
    /// Compute capability "8.6", gfx target "gfx1030" or Intel IP version "12.55.8", depending on
    /// the vendor.
    std::optional<std::string> architecture = {};

    /// True if the row names the device, false if it covers all other devices of a class.
    [[nodiscard]] bool is_specific() const { return ids != "*"; }
    bool operator==(const Chip&) const = default;
};

/// The table of chips. Look-ups use binary search and take well below a microsecond.
class Chips {
public:
    /// The table of the knowledge base in use; valid until another one is put in use.
    static const Chips& current();
    /// Reads chips.json. Errors: Malformed, TooLarge, with the row and member at fault.
    static Result<Chips> from(std::string_view json);

    /// The version of the table: "2026.11.22".
    [[nodiscard]] const std::string& version() const { return version_; }
    /// The vendor with a PCI vendor id of four hexadecimal digits; nullptr for vendors that make
    /// neither GPUs nor accelerators.
    [[nodiscard]] const Maker* maker_of_vendor(std::string_view vendor) const;
    [[nodiscard]] const Maker* maker(std::string_view word) const;
    /// The row for a device id, or else for its class; nullptr if there is neither. All arguments
    /// are hexadecimal digits, at least four of them in `pci_class`.
    [[nodiscard]] const Chip* find(std::string_view vendor,
                                   std::string_view device,
                                   std::string_view pci_class) const;
    /// The row for the first compatible string of a device that the table knows.
    [[nodiscard]] const Chip* find_compatible(std::span<const std::string> compatible) const;
    [[nodiscard]] const Chip* find_driver(std::string_view driver) const;

private:
    struct Range {
        std::uint16_t vendor = 0;
        std::uint16_t first = 0;
        std::uint16_t last = 0;
        std::uint32_t row = 0;  ///< index into chips_
    };
    Status index();
    Status index_row(std::uint32_t row);
    [[nodiscard]] const Chip* find_class(std::uint16_t vendor, std::string_view pci_class) const;

    std::string version_ = {};
    std::vector<Maker> makers_ = {};
    std::vector<Chip> chips_ = {};
    std::vector<Chip> compatibles_ = {};                 ///< sorted by compatible string
    std::vector<Chip> drivers_ = {};                     ///< sorted by driver
    std::map<std::uint16_t, std::size_t> vendors_ = {};  ///< vendor id to index into makers_
    std::vector<Range> ranges_ = {};                     ///< sorted, without overlaps
    std::map<std::pair<std::uint16_t, std::string>, std::uint32_t, std::less<>> classes_ = {};
};

}  // namespace gpuprobe::knowledge
