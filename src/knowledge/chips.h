// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"

/// A fast reader for data files in their usual layout, with each row of a table on its own line:
///
///     "chips": [
///     {"vendor_id": "10de", "ids": "2330", "role": "gpu"},
///
/// Each program reads about a thousand such rows when it starts. This reader takes only a fifth of
/// the time that the JSON parser takes. The reader rejects any other layout without an error
/// message; the caller then uses the JSON parser, which reports the errors.
namespace gpuprobe::knowledge {

/// The members of a row or document, which are all strings without escapes.
class LineMembers {
public:
    /// Parses a row that is a JSON object; nullopt for any other string.
    static std::optional<LineMembers> of_row(std::string_view line);

    /// The value of a member; nullptr if there is no member with the name `key`.
    [[nodiscard]] const std::string_view* find(std::string_view key) const;
    /// Adds a member. Returns false if the name exists already or if there are too many members.
    [[nodiscard]] bool add(std::string_view key, std::string_view value);

private:
    static constexpr std::size_t kMost = 24;
    struct Member {
        std::string_view key = {};
        std::string_view value = {};
    };
    std::array<Member, kMost> members_ = {};
    std::size_t count_ = 0;
};

/// A whole document, with its string members and the lines of its tables.
class DocumentLines {
public:
    /// The result is nullopt if `json` does not have the expected layout. The result contains views
    /// of `json`.
    static std::optional<DocumentLines> of(std::string_view json);

    [[nodiscard]] const LineMembers& members() const { return members_; }
    /// The lines between the brackets of a table; nullptr if there is no table with the name `key`.
    [[nodiscard]] const std::string_view* table(std::string_view key) const {
        return tables_.find(key);
    }

private:
    LineMembers members_ = {};
    LineMembers tables_ = {};
};

/// A line without surrounding white space and without a comma at its end.
struct Line {
    std::string_view text = {};
    bool has_comma = false;
};
/// Removes and returns the first line of `text`.
Line next_line(std::string_view& text);

/// A visitor of records (base/record.h) that reads the members of a record from a row.
class LineReader {
public:
    explicit LineReader(const LineMembers& members) : members_{members} {}

    template <class T>
    void operator()(std::string_view key, T& member) {
        const auto* text = members_.find(key);
        is_good_ = is_good_ && (text ? read(*text, member) : MayBeMissing<T>::value);
    }
    [[nodiscard]] bool is_good() const { return is_good_; }

private:
    static bool read(std::string_view text, std::string& member) {
        member = text;
        return true;
    }
    template <NamedEnum E>
    static bool read(std::string_view text, E& member) {
        const auto known = enum_from<E>(text);
        member = known.value_or(E{});
        return known.has_value();
    }
    template <class T>
    static bool read(std::string_view text, std::optional<T>& member) {
        return read(text, member.emplace());
    }

    const LineMembers& members_;
    bool is_good_ = true;
};

/// The rows of a table; nullopt if a row does not match the description of Row.
template <class Row>
std::optional<std::vector<Row>> rows_in(const DocumentLines& lines, std::string_view table) {
    const auto* text = lines.table(table);
    if (!text)
        return std::nullopt;
    std::vector<Row> rows;
    rows.reserve(static_cast<std::size_t>(std::ranges::count(*text, '\n')));
    bool has_comma = true;
    for (auto rest = *text; !rest.empty();) {
        const auto line = next_line(rest);
        const auto members = LineMembers::of_row(line.text);
        if (!members || !has_comma)
            return std::nullopt;
        has_comma = line.has_comma;
        LineReader reader{*members};
        describe(reader, rows.emplace_back());
        if (!reader.is_good())
            return std::nullopt;
    }
    if (has_comma && !rows.empty())
        return std::nullopt;
    return rows;
}

// Facts about hardware that are known without loading a vendor driver: data/knowledge/chips.json.

/// The purpose of a device.
enum class Role {
    Gpu,
    Accelerator,
    Display,     ///< a device that drives displays and cannot be used for compute
    Neither,     ///< for example, a second display head, a power unit or a test device
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

enum class Part {
    Core  ///< one core; the device tree has a device for each core of the GPU
};
constexpr auto names_of(Part) {
    return std::to_array<EnumName<Part>>({{Part::Core, "core"}});
}

enum class ChipMemory {
    Dedicated,
    Shared,  ///< host memory, of which a part may be reserved for the GPU
    Unified  ///< one memory for processor and GPU, without a reserved part
};
constexpr auto names_of(ChipMemory) {
    return std::to_array<EnumName<ChipMemory>>({{ChipMemory::Dedicated, "dedicated"},
                                                {ChipMemory::Shared, "shared"},
                                                {ChipMemory::Unified, "unified"}});
}

/// A vendor of GPUs or accelerators.
struct Vendor {
    std::string vendor = {};      ///< the vendor's id, such as "nvidia"
    std::string name = {};        ///< display name, such as "NVIDIA"
    std::string vendor_ids = {};  ///< PCI vendor ids, four hexadecimal digits, separated by spaces
    std::string makes = {};       ///< roles of the vendor's devices, separated by spaces

    [[nodiscard]] bool makes_any(Role role) const;
};

/// One row of the table. A row is about PCI device ids, about a compatible string, or about a
/// kernel driver. Unknown facts are empty.
struct Chip {
    std::optional<std::string> vendor_id = {};  ///< PCI vendor id
    /// PCI device ids such as "73a0-73a5 73bf"; "*" for all other ids of the class.
    std::optional<std::string> ids = {};
    std::optional<std::string> pci_class = {};   ///< class and subclass, such as "0302"
    std::optional<std::string> compatible = {};  ///< compatible string in the device tree
    /// For a compatible string: kernel drivers for the device, separated by spaces.
    std::optional<std::string> drivers = {};
    std::optional<Part> part = {};  ///< null if the row describes a whole GPU or accelerator
    std::optional<std::string> driver = {};  ///< kernel driver
    std::optional<std::string> vendor = {};
    std::optional<std::string> chip = {};  ///< name of the chip, such as "navi21"
    std::optional<std::string> name = {};  ///< display name, for devices that pci.ids does not list
    std::optional<Role> role = {};
    std::optional<std::string> kind = {};  ///< kind of accelerator, such as "npu" or "training"
    std::optional<Form> form = {};
    std::optional<ChipMemory> memory = {};
    /// Compute capability ("8.6"), gfx target ("gfx1030") or Intel IP version ("12.55.8"),
    /// depending on the vendor.
    std::optional<std::string> architecture = {};

    /// True if the row lists the device's id, false if the row covers all other devices of a class.
    [[nodiscard]] bool is_specific() const { return ids != "*"; }
    /// True for the rows of drivers of V4L2 codecs.
    [[nodiscard]] bool is_video_codec() const {
        return role == Role::Accelerator && kind == "video";
    }
    bool operator==(const Chip&) const = default;
};

/// Chips without a video engine that other chips of the vendor have.
struct ChipVideo {
    std::string vendor = {};
    std::string chips = {};  ///< names of chips, separated by spaces
    std::string lacks = {};  ///< "decode", "encode" or "decode encode"
};

/// The table of chips. Look-ups use binary search and take much less than one microsecond.
class Chips {
public:
    /// The table from the knowledge base in use. The reference is valid until another knowledge
    /// base is put into use.
    static const Chips& current();
    /// Reads chips.json. Errors: Malformed or TooLarge; the message names the row and member at
    /// fault.
    static Result<Chips> from(std::string_view json);

    /// The version of the table: "2026.11.22".
    [[nodiscard]] const std::string& version() const { return version_; }
    [[nodiscard]] const std::vector<Vendor>& vendors() const { return vendors_; }
    /// The vendor with a PCI vendor id of four hexadecimal digits; nullptr for vendors that make
    /// neither GPUs nor accelerators.
    [[nodiscard]] const Vendor* vendor_of_id(std::string_view vendor_id) const;
    [[nodiscard]] const Vendor* vendor(std::string_view word) const;
    /// The row for a device id; if there is none, the row for the device's class; nullptr if both
    /// rows are missing. All arguments are hexadecimal digits, at least four of them in
    /// `pci_class`.
    [[nodiscard]] const Chip* find(std::string_view vendor,
                                   std::string_view device,
                                   std::string_view pci_class) const;
    /// The row for the first of the device's compatible strings that the table contains.
    [[nodiscard]] const Chip* find_compatible(std::span<const std::string> compatible) const;
    [[nodiscard]] const Chip* find_driver(std::string_view driver) const;
    /// The directions for which the chip lacks a video engine, such as "decode encode"; empty if no
    /// missing engine is known. `vendor` is the vendor's id.
    [[nodiscard]] std::string_view video_lacks_of(std::string_view vendor,
                                                  std::string_view chip) const;

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
    std::vector<Vendor> vendors_ = {};
    std::vector<Chip> chips_ = {};
    std::vector<Chip> compatibles_ = {};  ///< sorted by compatible string
    std::vector<Chip> drivers_ = {};      ///< sorted by driver
    std::vector<ChipVideo> video_ = {};
    /// maps a vendor id to an index into vendors_
    std::map<std::uint16_t, std::size_t> vendor_ids_ = {};
    std::vector<Range> ranges_ = {};  ///< sorted, without overlaps
    std::map<std::pair<std::uint16_t, std::string>, std::uint32_t, std::less<>> classes_ = {};
};

// AMD's marketing names: data/knowledge/amd_names.json.

/// The name of one revision of a PCI device. AMD sells devices with the same device id under
/// several names.
struct AmdName {
    std::string device = {};    ///< PCI device id, four hexadecimal digits
    std::string revision = {};  ///< PCI revision, two hexadecimal digits
    std::string name = {};      ///< marketing name, such as "AMD Radeon RX 7900 XTX"
};

class AmdNames {
public:
    /// The table from the knowledge base in use. The reference is valid until another knowledge
    /// base is put into use.
    static const AmdNames& current();
    /// Reads amd_names.json. Errors: TooLarge; Malformed, also if there are two names for one
    /// revision.
    static Result<AmdNames> from(std::string_view json);

    /// The name of one revision of a device; nullopt if the name is unknown. Both arguments are
    /// lower-case hexadecimal digits.
    [[nodiscard]] std::optional<std::string> find(std::string_view device,
                                                  std::string_view revision) const;

private:
    std::vector<AmdName> rows_ = {};  ///< sorted by device and revision
};

}  // namespace gpuprobe::knowledge
