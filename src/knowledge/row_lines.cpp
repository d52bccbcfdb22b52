// SPDX-License-Identifier: Apache-2.0
#include "knowledge/row_lines.h"

#include <algorithm>

#include "base/text.h"

namespace gpuprobe::knowledge {
namespace {

/// Takes `word` off the front of `text`. Returns false if `text` does not start with it.
bool take(std::string_view& text, std::string_view word) {
    const bool is_there = text.starts_with(word);
    if (is_there)
        text.remove_prefix(word.size());
    return is_there;
}

/// Takes a quoted string off the front of `text`.
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

/// Whether the text is printable ASCII and newlines only, without backslashes. A quote then always
/// ends a string.
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

/// Whether the line consists of `text` only.
bool is_just(const Line& line, std::string_view text) {
    return line.text == text && !line.has_comma;
}

/// Takes the lines of a table off the front of `text`, including the closing bracket. `has_comma`:
/// whether a comma follows the bracket.
std::string_view take_rows(std::string_view& text, bool& has_comma) {
    // The result is a view from the first row to the line before the bracket.
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
        // Each member must follow a comma, and names must be unique.
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

}  // namespace gpuprobe::knowledge
