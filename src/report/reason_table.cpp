// SPDX-License-Identifier: Apache-2.0
#include "report/reason_table.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::span<const ReasonInfo> kTable{reason_rows::kRows};

/// The most severe finding determines the GPU's health, so severities must be unique.
constexpr bool gravities_differ() {
    for (const auto& one : kTable)
        for (const auto& other : kTable)
            if (&one != &other && one.gravity != 0 && one.gravity == other.gravity)
                return false;
    return true;
}
static_assert(gravities_differ());

/// An alias must not equal a current code, because the alias would hide the row of that code.
constexpr bool aliases_are_retired() {
    return std::ranges::none_of(kTable, [](const ReasonInfo& row) {
        return std::ranges::binary_search(kTable, row.alias, {}, &ReasonInfo::code);
    });
}
static_assert(aliases_are_retired());

}  // namespace

std::span<const ReasonInfo> reason_table() {
    return kTable;
}

const ReasonInfo* find_reason(std::string_view code) {
    const auto row = std::ranges::lower_bound(kTable, code, {}, &ReasonInfo::code);
    return row == kTable.end() || row->code != code ? nullptr : &*row;
}

bool has_trait(std::string_view code, ReasonTraits trait) {
    const auto* row = find_reason(code);
    return row && includes(row->traits, trait);
}

std::string_view today_for(std::string_view code) {
    // Most rows have an empty alias, which must not match an empty code.
    if (code.empty())
        return code;
    const auto row = std::ranges::find(kTable, code, &ReasonInfo::alias);
    return row == kTable.end() ? code : row->code;
}

}  // namespace gpuprobe::inline report
