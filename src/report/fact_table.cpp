// SPDX-License-Identifier: Apache-2.0
#include "report/fact_table.h"

#include "base/text.h"

namespace gpuprobe::inline report {
namespace {

static_assert(is_fact_table(kFactTable), "a row is incomplete, or two rows contradict each other");

/// The rows sorted by key, for binary search.
constexpr auto kByKey = [] {
    std::array<const FactInfo*, kFactTable.size()> rows = {};
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = &kFactTable[i];
    std::ranges::sort(rows, {}, &FactInfo::key);
    return rows;
}();

/// The first row of that key for whose subject `is_meant` returns true; null if no row matches.
template <class Predicate>
const FactInfo* find_fact(std::string_view key, Predicate is_meant) {
    const auto* row = std::ranges::lower_bound(kByKey, key, {}, &FactInfo::key);
    for (; row != kByKey.end() && (*row)->key == key; ++row)
        if (is_meant((*row)->of))
            return *row;
    return nullptr;
}

/// The first key of the object that a worker may not send: `find` returns no row for it, or a row
/// of the report itself.
template <class Find>
std::optional<std::string> undeclared(const Value& object, Find find) {
    for (const auto& member : *object.as_object()) {
        const auto* row = find(member.key);
        if (!row || row->of == FactOf::View)
            return scrubbed(member.key, kMaxFactKey);
    }
    return std::nullopt;
}

/// Calls `use` with the device's facts from the preferred driver, then with the facts from each
/// other driver of the API.
template <class Use>
void for_each_driver(Value& device, const Use& use) {
    use(device);
    if (auto* others = device.find("alternatives"); others && others->as_array())
        for (auto& other : *others->as_array())
            if (auto* facts = other.find("device"))
                use(*facts);
}

/// Sets the named members to null at any depth.
// NOLINTNEXTLINE(misc-no-recursion): as deep as a fact is
void forget_members(Value& value, std::string_view names) {
    if (auto* members = value.as_object())
        for (auto& member : *members) {
            if (lists_word(names, member.key))
                member.value = Value{};
            forget_members(member.value, names);
        }
    if (auto* items = value.as_array())
        for (auto& item : *items)
            forget_members(item, names);
}

/// Sets identifying facts to null. Unlike forget_the_moment_in(), it also removes undeclared facts.
void hide_identity_in(Value& facts) {
    if (auto* members = facts.as_object())
        for (auto& member : *members)
            if (may_identify(member.key))
                member.value = Value{};
}

/// Sets facts that change by themselves to null, and such members inside other facts.
void forget_the_moment_in(Value& facts) {
    if (auto* members = facts.as_object())
        for (auto& member : *members) {
            const auto* row = device_fact(member.key);
            if (row && row->tells == FactTells::Moment)
                member.value = Value{};
            else if (row && !row->momentary_members.empty())
                forget_members(member.value, row->momentary_members);
        }
}

}  // namespace

const FactInfo* device_fact(std::string_view key) {
    return find_fact(key, [](FactOf of) {
        return of == FactOf::EveryDevice || of == FactOf::Device || of == FactOf::View;
    });
}

const FactInfo* runtime_fact(std::string_view key) {
    return find_fact(key, [](FactOf of) { return of == FactOf::Runtime; });
}

std::optional<std::string> undeclared_device_fact(const Value& device) {
    return undeclared(device, device_fact);
}

std::optional<std::string> undeclared_runtime_fact(const Value& runtime) {
    return undeclared(runtime, runtime_fact);
}

bool tells_the_moment(std::string_view api) {
    return std::ranges::any_of(kFactTable, [api](const FactInfo& row) {
        return row.of == FactOf::Device && row.tells == FactTells::Moment &&
               lists_word(row.apis, api);
    });
}

bool may_identify(std::string_view key) {
    const auto* row = device_fact(key);
    return !row || row->tells == FactTells::Identity;
}

void hide_identity(Value& device) {
    for_each_driver(device, hide_identity_in);
}

void forget_the_moment(Value& device) {
    for_each_driver(device, forget_the_moment_in);
}

}  // namespace gpuprobe::inline report
