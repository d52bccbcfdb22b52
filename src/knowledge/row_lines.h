// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"

/// A fast reader for data files in their usual layout, with each row of a table on its own line:
///
///     "chips": [
///     {"vendor": "10de", "ids": "2330", "role": "gpu"},
///
/// Each start of a program reads about a thousand such rows. This reader takes a fifth of the time
/// of the JSON parser. It rejects any other layout without an error message; the caller then uses
/// the JSON parser, which reports errors.
namespace gpuprobe::knowledge {

/// The members of a row or document, all of them strings without escapes.
class LineMembers {
public:
    /// Parses `{"key": "value", …}`. nullopt for anything else.
    static std::optional<LineMembers> of_row(std::string_view line);

    /// The value of a member, or nullptr if the name is unknown.
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

/// A whole document: its string members, and the text of its tables.
class DocumentLines {
public:
    /// nullopt if the text does not have the expected layout. The result refers to `json`.
    static std::optional<DocumentLines> of(std::string_view json);

    [[nodiscard]] const LineMembers& members() const { return members_; }
    /// The text between the brackets of a table, or nullptr if the name is unknown.
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
/// Takes the next line off the front of `text`.
Line next_line(std::string_view& text);

/// A visitor of records (base/record.h) that reads members from a row.
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

}  // namespace gpuprobe::knowledge
