// SPDX-License-Identifier: Apache-2.0
#include "knowledge/chips.h"

#include <algorithm>
#include <utility>

#include "base/record.h"
#include "base/text.h"
#include "base/word_list.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

/// Removes `word` from the beginning of `text`. Returns false if `text` does not start with `word`.
bool take(std::string_view& text, std::string_view word) {
    const bool is_there = text.starts_with(word);
    if (is_there)
        text.remove_prefix(word.size());
    return is_there;
}

/// Removes and returns a quoted string at the start of `text`.
std::optional<std::string_view> take_string(std::string_view& text) {
    if (!take(text, "\""))
        return std::nullopt;
    const auto end = text.find('"');
    if (end == std::string_view::npos)
        return std::nullopt;
    const auto content = text.substr(0, end);
    text.remove_prefix(end + 1);
    return content;
}

/// Whether `text` has only printable ASCII characters and newlines, and no backslashes. In this
/// case, each quotation mark in `text` begins or ends a JSON string.
bool is_plain(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~' && c != '\\'); });
}

}  // namespace

const std::string_view* LineMembers::find(std::string_view key) const {
    for (std::size_t i = 0; i < count_; ++i)
        if (members_[i].key == key)
            return &members_[i].value;
    return nullptr;
}

bool LineMembers::add(std::string_view key, std::string_view value) {
    if (count_ == kMost || find(key))
        return false;
    members_[count_++] = {.key = key, .value = value};
    return true;
}

std::optional<LineMembers> LineMembers::of_row(std::string_view line) {
    LineMembers members;
    if (!take(line, "{"))
        return std::nullopt;
    do {
        const auto key = take_string(line);
        if (!key || !take(line, ": "))
            return std::nullopt;
        const auto value = take_string(line);
        if (!value || !members.add(*key, *value))
            return std::nullopt;
    } while (take(line, ", "));
    return line == "}" ? std::optional{members} : std::nullopt;
}

Line next_line(std::string_view& text) {
    const auto end = std::min(text.find('\n'), text.size());
    Line line{.text = trimmed(text.substr(0, end))};
    text.remove_prefix(std::min(end + 1, text.size()));
    line.has_comma = line.text.ends_with(',');
    if (line.has_comma)
        line.text.remove_suffix(1);
    return line;
}

namespace {

/// Whether the line consists of `text` and nothing else.
bool is_just(const Line& line, std::string_view text) {
    return line.text == text && !line.has_comma;
}

/// Removes and returns the lines of a table at the start of `text`. The closing bracket is also
/// removed. `has_comma` returns whether a comma follows the bracket.
std::string_view take_rows(std::string_view& text, bool& has_comma) {
    // The result is a view from the first row to the line before the closing bracket.
    const auto* start = text.data();
    const auto* end = start;
    for (Line line; !text.empty() && line.text != "]"; has_comma = line.has_comma) {
        end = text.data();
        line = next_line(text);
    }
    return {start, static_cast<std::size_t>(end - start)};
}

}  // namespace

std::optional<DocumentLines> DocumentLines::of(std::string_view json) {
    if (!is_plain(json) || !is_just(next_line(json), "{"))
        return std::nullopt;
    DocumentLines document;
    bool has_comma = true;
    auto line = next_line(json);
    for (; line.text != "}"; line = next_line(json)) {
        const auto key = take_string(line.text);
        // Each member except the first must follow a comma, and names must be unique.
        if (!key || !take(line.text, ": ") || !has_comma || document.members_.find(*key) ||
            document.tables_.find(*key))
            return std::nullopt;
        has_comma = line.has_comma;
        // A member is either a table or a string.
        if (is_just(line, "[")) {
            const auto rows = take_rows(json, has_comma);
            if (!document.tables_.add(*key, rows))
                return std::nullopt;
            continue;
        }
        const auto value = take_string(line.text);
        if (!value || !line.text.empty() || !document.members_.add(*key, *value))
            return std::nullopt;
    }
    return !has_comma && !line.has_comma && trimmed(json).empty() ? std::optional{document}
                                                                  : std::nullopt;
}

namespace {

constexpr std::string_view kChipsSchema = "gpuprobe.chips/1";
/// The value of `ids` in a row that covers all devices of a class that no other row covers.
constexpr std::string_view kAllOthers = "*";

struct ChipsDocument {
    std::string schema = {};
    std::string version = {};
    std::vector<Vendor> vendors = {};
    std::vector<Chip> chips = {};
    std::vector<Chip> compatibles = {};
    std::vector<Chip> drivers = {};
    std::optional<std::vector<ChipVideo>> video = {};
};

struct IdRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;
};

/// Parses a PCI id or a range of ids, such as "73a0" or "73a0-73a5".
std::optional<IdRange> range_from(std::string_view text) {
    const auto dash = text.find('-');
    const auto first = parse_hex<std::uint16_t>(text.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_hex<std::uint16_t>(text.substr(dash + 1));
    if (!first || !last || *last < *first)
        return std::nullopt;
    return IdRange{.first = *first, .last = *last};
}

/// Uses binary search to find the row whose member `key` is `word`; returns nullptr if there is no
/// such row.
const Chip* found(const std::vector<Chip>& sorted,
                  std::optional<std::string> Chip::*key,
                  std::string_view word) {
    const auto row = std::ranges::lower_bound(
        sorted, word, {}, [key](const Chip& chip) { return std::string_view{*(chip.*key)}; });
    return row != sorted.end() && *(*row.*key) == word ? &*row : nullptr;
}

/// Sorts rows by the member `key`. Errors: Malformed if a row lacks the member `key` or if two rows
/// have the same value.
Status sort_by(std::optional<std::string> Chip::*key, const char* table, std::vector<Chip>& rows) {
    for (const auto& row : rows)
        if (!(row.*key))
            return Error{ErrorCode::Malformed, std::string{table} + ": a row has no key"};
    std::ranges::sort(rows, {}, key);
    const auto twin = std::ranges::adjacent_find(rows, {}, key);
    if (twin != rows.end())
        return Error{ErrorCode::Malformed,
                     std::string{table} + ": " + *(*twin.*key) + ": appears more than once"};
    return Done{};
}

}  // namespace

RECORD_MEMBERS(Vendor, vendor, name, vendor_ids, makes)

RECORD_MEMBERS(ChipVideo, vendor, chips, lacks)

RECORD_MEMBERS(Chip,
               vendor_id,
               ids,
               ("class", pci_class),
               compatible,
               drivers,
               part,
               driver,
               vendor,
               chip,
               name,
               role,
               kind,
               form,
               memory,
               architecture)

namespace {

RECORD_MEMBERS(ChipsDocument, schema, version, vendors, chips, compatibles, drivers, video)

/// Reads the table if it has the usual layout, with one row per line; nullopt for any other layout.
std::optional<ChipsDocument> lines_of(std::string_view json) {
    const auto lines = DocumentLines::of(json);
    if (!lines)
        return std::nullopt;
    const auto* schema = lines->members().find("schema");
    const auto* version = lines->members().find("version");
    auto vendors = rows_in<Vendor>(*lines, "vendors");
    auto chips = rows_in<Chip>(*lines, "chips");
    auto compatibles = rows_in<Chip>(*lines, "compatibles");
    auto drivers = rows_in<Chip>(*lines, "drivers");
    auto video =
        lines->table("video") ? rows_in<ChipVideo>(*lines, "video") : std::vector<ChipVideo>{};
    if (!schema || *schema != kChipsSchema || !version || !vendors || !chips || !compatibles ||
        !drivers || !video)
        return std::nullopt;
    return ChipsDocument{.version = std::string{*version},
                         .vendors = *std::move(vendors),
                         .chips = *std::move(chips),
                         .compatibles = *std::move(compatibles),
                         .drivers = *std::move(drivers),
                         .video = std::move(video)};
}

}  // namespace

bool Vendor::makes_any(Role role) const {
    return std::ranges::count(words(makes), name_of(role)) > 0;
}

const Chips& Chips::current() {
    return table_in_use<Chips>("chips");
}

Result<Chips> Chips::from(std::string_view json) {
    // The line reader is five times as fast, and can read the file in the layout in which it is
    // installed. The JSON reader handles all other layouts and reports errors.
    auto lines = json.size() <= kMaxDocument.count ? lines_of(json) : std::nullopt;
    auto document =
        lines ? *std::move(lines) : TRY(document_from<ChipsDocument>(json, kChipsSchema));
    Chips chips;
    chips.version_ = std::move(document.version);
    chips.vendors_ = std::move(document.vendors);
    chips.chips_ = std::move(document.chips);
    chips.compatibles_ = std::move(document.compatibles);
    chips.drivers_ = std::move(document.drivers);
    chips.video_ = std::move(document.video).value_or(std::vector<ChipVideo>{});
    TRY(chips.index());
    return chips;
}

// Builds the indices and rejects tables in which a look-up could have two results.
Status Chips::index() {
    // Vendors: a PCI vendor id may belong to only one vendor.
    for (std::size_t row = 0; row < vendors_.size(); ++row)
        for (const auto vendor : words(vendors_[row].vendor_ids)) {
            const auto id = parse_hex<std::uint16_t>(vendor);
            if (!id || !vendor_ids_.emplace(*id, row).second)
                return Error{ErrorCode::Malformed, "vendors: " + vendors_[row].vendor +
                                                       ": vendor_ids: " + std::string{vendor}};
        }
    // Device ids: collect the ranges of all rows, sort them, and reject overlaps.
    for (std::uint32_t row = 0; row < chips_.size(); ++row)
        TRY(index_row(row));
    std::ranges::sort(ranges_, {}, [](const Range& range) {
        return std::pair{range.vendor, range.first};
    });
    for (std::size_t i = 1; i < ranges_.size(); ++i)
        if (ranges_[i].vendor == ranges_[i - 1].vendor && ranges_[i].first <= ranges_[i - 1].last)
            return Error{ErrorCode::Malformed, "chips: " + *chips_[ranges_[i].row].ids +
                                                   ": an id appears more than once"};
    TRY(sort_by(&Chip::compatible, "compatibles", compatibles_));
    return sort_by(&Chip::driver, "drivers", drivers_);
}

Status Chips::index_row(std::uint32_t row) {
    const auto& chip = chips_[row];
    const auto bad = [&](const char* member) {
        return Error{ErrorCode::Malformed, "chips[" + std::to_string(row) + "]." + member};
    };
    // Each row in the table of PCI devices must contain a PCI vendor.
    const auto vendor = parse_hex<std::uint16_t>(chip.vendor_id.value_or(""));
    if (!vendor)
        return bad("vendor_id");
    // A row for all other devices of a class is in a separate index. The keys of this index are
    // vendor and class.
    if (chip.ids == kAllOthers) {
        const auto key = std::pair{*vendor, chip.pci_class.value_or("")};
        return key.second.size() == 4 && classes_.emplace(key, row).second ? Status{Done{}}
                                                                           : bad("class");
    }
    const auto ids = chip.ids.value_or("");
    for (const auto word : words(ids)) {
        const auto range = range_from(word);
        if (!range)
            return bad("ids");
        ranges_.push_back(
            {.vendor = *vendor, .first = range->first, .last = range->last, .row = row});
    }
    return Done{};
}

const Vendor* Chips::vendor_of_id(std::string_view vendor_id) const {
    const auto id = parse_hex<std::uint16_t>(vendor_id);
    const auto row = id ? vendor_ids_.find(*id) : vendor_ids_.end();
    return row == vendor_ids_.end() ? nullptr : &vendors_[row->second];
}

const Vendor* Chips::vendor(std::string_view word) const {
    const auto row = std::ranges::find(vendors_, word, &Vendor::vendor);
    return row == vendors_.end() ? nullptr : &*row;
}

const Chip* Chips::find(std::string_view vendor,
                        std::string_view device,
                        std::string_view pci_class) const {
    const auto vendor_id = parse_hex<std::uint16_t>(vendor);
    const auto device_id = parse_hex<std::uint16_t>(device);
    if (!vendor_id)
        return nullptr;
    if (device_id) {
        // The only range that may contain the device id is the last range that begins at or before
        // this id.
        const auto after = std::ranges::upper_bound(ranges_, std::pair{*vendor_id, *device_id}, {},
                                                    [](const Range& range) {
                                                        return std::pair{range.vendor, range.first};
                                                    });
        if (after != ranges_.begin()) {
            const auto& range = *std::prev(after);
            if (range.vendor == *vendor_id && *device_id <= range.last)
                return &chips_[range.row];
        }
    }
    // The class code has six digits, but rows contain only class and subclass.
    return find_class(*vendor_id, pci_class.substr(0, 4));
}

const Chip* Chips::find_class(std::uint16_t vendor, std::string_view pci_class) const {
    const auto row = classes_.find(std::pair{vendor, std::string{pci_class}});
    return row == classes_.end() ? nullptr : &chips_[row->second];
}

const Chip* Chips::find_compatible(std::span<const std::string> compatible) const {
    // The device tree lists the most specific compatible string first.
    for (const auto& word : compatible)
        if (const auto* chip = found(compatibles_, &Chip::compatible, word))
            return chip;
    return nullptr;
}

const Chip* Chips::find_driver(std::string_view driver) const {
    return found(drivers_, &Chip::driver, driver);
}

std::string_view Chips::video_lacks_of(std::string_view vendor, std::string_view chip) const {
    const auto row = std::ranges::find_if(video_, [&](const ChipVideo& video) {
        return video.vendor == vendor && has_word(video.chips, chip);
    });
    return row == video_.end() ? std::string_view{} : row->lacks;
}

// AMD's marketing names ---------------------------------------------------------------------------

RECORD_MEMBERS(AmdName, device, revision, name)

namespace {

constexpr std::string_view kAmdNamesSchema = "gpuprobe.amd-names/1";

struct AmdNamesDocument {
    std::string schema = {};
    std::vector<AmdName> names = {};
};
RECORD_MEMBERS(AmdNamesDocument, schema, names)

std::pair<std::string_view, std::string_view> key_of(const AmdName& row) {
    return {row.device, row.revision};
}

}  // namespace

const AmdNames& AmdNames::current() {
    return table_in_use<AmdNames>("amd_names");
}

Result<AmdNames> AmdNames::from(std::string_view json) {
    auto document = TRY(document_from<AmdNamesDocument>(json, kAmdNamesSchema));
    AmdNames names;
    names.rows_ = std::move(document.names);
    std::ranges::sort(names.rows_, {}, key_of);
    const auto twin = std::ranges::adjacent_find(names.rows_, {}, key_of);
    if (twin != names.rows_.end())
        return Error{ErrorCode::Malformed,
                     "names: " + twin->device + " " + twin->revision + ": appears more than once"};
    return names;
}

std::optional<std::string> AmdNames::find(std::string_view device,
                                          std::string_view revision) const {
    const std::pair key{device, revision};
    const auto row = std::ranges::lower_bound(rows_, key, {}, key_of);
    return row != rows_.end() && key_of(*row) == key ? std::optional{row->name} : std::nullopt;
}

}  // namespace gpuprobe::knowledge
