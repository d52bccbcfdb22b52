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

/// What is known of hardware before any driver speaks: data/knowledge/chips.json.
namespace gpuprobe::knowledge {

/// What a function of the machine is to its user.
enum class Role {
    Gpu,
    Accelerator,
    Display,     ///< shows pixels and computes nothing
    Neither,     ///< a second head, a power unit, a test device
    Passthrough  ///< of a driver: it keeps the device for a virtual machine
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
    Shared,  ///< the host's, of which a part may be set aside
    Unified  ///< one memory for processor and GPU, of which nothing is set aside
};
constexpr auto names_of(ChipMemory) {
    return std::to_array<EnumName<ChipMemory>>({{ChipMemory::Dedicated, "dedicated"},
                                                {ChipMemory::Shared, "shared"},
                                                {ChipMemory::Unified, "unified"}});
}

struct Maker {
    std::string maker = {};    ///< the word for it: "nvidia"
    std::string name = {};     ///< for people: "NVIDIA"
    std::string vendors = {};  ///< PCI vendor ids, four hexadecimal digits, separated by spaces
    std::string makes = {};    ///< words of Role, separated by spaces

    [[nodiscard]] bool makes_any(Role role) const;
};

/// One row about PCI device ids, a compatible string or a kernel driver. What is not known is
/// empty.
struct Chip {
    std::optional<std::string> vendor = {};      ///< PCI vendor id
    std::optional<std::string> ids = {};         ///< "73a0-73a5 73bf"; "*": all others of `class`
    std::optional<std::string> pci_class = {};   ///< class and subclass: "0302"
    std::optional<std::string> compatible = {};  ///< of the device tree
    std::optional<std::string> driver = {};      ///< of the kernel
    std::optional<std::string> maker = {};
    std::optional<std::string> chip = {};  ///< "navi21"
    std::optional<std::string> name = {};  ///< for people, where pci.ids has none
    std::optional<Role> role = {};
    std::optional<std::string> kind = {};  ///< of an accelerator: "npu", "training" …
    std::optional<Form> form = {};
    std::optional<ChipMemory> memory = {};
    /// Compute capability "8.6", gfx target "gfx1030" or Intel IP "12.55.8", by maker.
    std::optional<std::string> architecture = {};

    /// True where the row names the device, false where it is about all others of a class.
    [[nodiscard]] bool is_specific() const { return ids != "*"; }
    bool operator==(const Chip&) const = default;
};

/// The table. Found by binary search: a look-up takes well below a microsecond.
class Chips {
public:
    /// The table in use, until another library is.
    static const Chips& current();
    /// Errors: Malformed, TooLarge, with the row and member at fault.
    static Result<Chips> from(std::string_view json);

    /// "2026.11.22"
    [[nodiscard]] const std::string& version() const { return version_; }
    /// nullptr for a vendor that makes nothing of interest. `vendor`: four hexadecimal digits.
    [[nodiscard]] const Maker* maker_of_vendor(std::string_view vendor) const;
    [[nodiscard]] const Maker* maker(std::string_view word) const;
    /// By the device's id, else by its class; nullptr where the table has neither. All are
    /// hexadecimal digits, `pci_class` at least four.
    [[nodiscard]] const Chip* find(std::string_view vendor,
                                   std::string_view device,
                                   std::string_view pci_class) const;
    /// The first of a device's compatible strings that the table knows.
    [[nodiscard]] const Chip* find_compatible(std::span<const std::string> compatible) const;
    [[nodiscard]] const Chip* find_driver(std::string_view driver) const;

private:
    struct Range {
        std::uint16_t vendor = 0;
        std::uint16_t first = 0;
        std::uint16_t last = 0;
        std::uint32_t row = 0;  ///< of chips_
    };
    Status index();
    Status index_row(std::uint32_t row);
    [[nodiscard]] const Chip* find_class(std::uint16_t vendor, std::string_view pci_class) const;

    std::string version_ = {};
    std::vector<Maker> makers_ = {};
    std::vector<Chip> chips_ = {};
    std::vector<Chip> compatibles_ = {};                 ///< sorted
    std::vector<Chip> drivers_ = {};                     ///< sorted
    std::map<std::uint16_t, std::size_t> vendors_ = {};  ///< to makers_
    std::vector<Range> ranges_ = {};                     ///< sorted, none overlapping
    std::map<std::pair<std::uint16_t, std::string>, std::uint32_t, std::less<>> classes_ = {};
};

}  // namespace gpuprobe::knowledge
