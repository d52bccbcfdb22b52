// SPDX-License-Identifier: Apache-2.0
#include "base/value.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace gpuprobe::inline base {

Value::Value() = default;
Value::~Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;

Value::Value(std::nullptr_t) {}
Value::Value(bool flag) : data_{flag} {}
Value::Value(int number) : data_{std::int64_t{number}} {}
Value::Value(unsigned number) : data_{std::int64_t{number}} {}
Value::Value(long number) : data_{std::int64_t{number}} {}
Value::Value(long long number) : data_{std::int64_t{number}} {}
Value::Value(unsigned long number) {
    set_unsigned(number);
}
Value::Value(unsigned long long number) {
    set_unsigned(number);
}
Value::Value(double number) : data_{number} {}
Value::Value(const char* text) : data_{std::string{text}} {}
Value::Value(std::string text) : data_{std::move(text)} {}
Value::Value(std::string_view text) : data_{std::string{text}} {}
Value::Value(Array items) : data_{std::move(items)} {}
Value::Value(Object members) : data_{std::move(members)} {}

void Value::set_unsigned(std::uint64_t number) {
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        data_ = static_cast<std::int64_t>(number);
    else
        data_ = number;
}

std::string_view Value::type_name() const {
    // By index of the variant; both integer alternatives have the same name.
    constexpr std::string_view kNames[] = {"null",   "boolean", "integer", "integer",
                                           "number", "string",  "array",   "object"};
    return kNames[data_.index()];
}

std::optional<bool> Value::as_bool() const {
    const auto* flag = std::get_if<bool>(&data_);
    return flag ? std::optional{*flag} : std::nullopt;
}

std::optional<std::int64_t> Value::as_int() const {
    const auto* number = std::get_if<std::int64_t>(&data_);
    return number ? std::optional{*number} : std::nullopt;
}

std::optional<std::uint64_t> Value::as_unsigned() const {
    // set_unsigned() uses this alternative only for numbers over 2^63 - 1.
    if (const auto* number = std::get_if<std::uint64_t>(&data_))
        return *number;
    const auto number = as_int();
    if (!number || *number < 0)
        return std::nullopt;
    return static_cast<std::uint64_t>(*number);
}

std::optional<double> Value::as_double() const {
    if (const auto* number = std::get_if<double>(&data_))
        return *number;
    if (const auto number = as_int())
        return static_cast<double>(*number);
    if (const auto number = as_unsigned())
        return static_cast<double>(*number);
    return std::nullopt;
}

const Value* Value::find(std::string_view key) const {
    const auto* members = as_object();
    if (!members)
        return nullptr;
    // A linear search: most objects are small.
    const auto found = std::ranges::find(*members, key, &Member::key);
    return found == members->end() ? nullptr : &found->value;
}

Value* Value::find(std::string_view key) {
    // The cast is safe, because this object is mutable.
    return const_cast<Value*>(std::as_const(*this).find(key));
}

const Value& Value::at(std::string_view key) const {
    static const Value kNull;
    const auto* member = find(key);
    return member ? *member : kNull;
}

// Throws if the value is neither null nor an object, which is a programming error.
Value& Value::operator[](std::string_view key) {
    if (is_null())
        data_ = Object{};
    if (auto* member = find(key))
        return *member;
    auto& members = std::get<Object>(data_);
    members.push_back(Member{.key = std::string{key}});
    return members.back().value;
}

void Value::push_back(Value item) {
    if (is_null())
        data_ = Array{};
    std::get<Array>(data_).push_back(std::move(item));
}

namespace {

/// Compares two objects. Compares member by member while both have the same order of keys, which is
/// nearly always the case. Looks the rest up through an index, because a driver may report
/// thousands of facts in any order.
bool have_equal_members(const Value::Object& left, const Value::Object& right) {
    if (left.size() != right.size())
        return false;
    // The common prefix with the same keys in the same order.
    const auto [rest, other] =
        std::ranges::mismatch(left, right, {}, &Value::Member::key, &Value::Member::key);
    for (auto l = left.begin(), r = right.begin(); l != rest; ++l, ++r)
        if (l->value != r->value)
            return false;
    // Objects of equal size with unique keys are equal if each key of one has the same value in the
    // other.
    std::unordered_map<std::string_view, const Value*> values;
    for (auto r = other; r != right.end(); ++r)
        values.emplace(r->key, &r->value);
    return std::all_of(rest, left.end(), [&values](const Value::Member& member) {
        const auto found = values.find(member.key);
        return found != values.end() && member.value == *found->second;
    });
}

}  // namespace

namespace {

/// The members sorted by key, without copying them.
std::vector<const Value::Member*> members_by_key(const Value::Object& members) {
    std::vector<const Value::Member*> sorted;
    for (const auto& member : members)
        sorted.push_back(&member);
    std::ranges::stable_sort(sorted, {}, &Value::Member::key);
    return sorted;
}

/// Compares lexicographically: by first key, its value, second key, and so on.
std::strong_ordering compared(const Value::Object& left, const Value::Object& right) {
    const auto ours = members_by_key(left);
    const auto theirs = members_by_key(right);
    const auto compare = [](const Value::Member* one, const Value::Member* other) {
        const auto by_key = one->key <=> other->key;
        return by_key != 0 ? by_key : one->value <=> other->value;
    };
    return std::lexicographical_compare_three_way(ours.begin(), ours.end(), theirs.begin(),
                                                  theirs.end(), compare);
}

std::strong_ordering compared(const Value::Array& left, const Value::Array& right) {
    return std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(),
                                                  right.end());
}

}  // namespace

std::strong_ordering operator<=>(const Value& left, const Value& right) {
    if (left.data_.index() != right.data_.index())
        return left.data_.index() <=> right.data_.index();
    return std::visit(
        [&right]<class T>(const T& held) -> std::strong_ordering {
            const auto& other = std::get<T>(right.data_);
            // strong_order() gives NaN a place, which <=> of doubles does not.
            if constexpr (std::is_same_v<T, double>)
                return std::strong_order(held, other);
            else if constexpr (std::is_same_v<T, Value::Object> || std::is_same_v<T, Value::Array>)
                return compared(held, other);
            else
                return held <=> other;
        },
        left.data_);
}

bool operator==(const Value& left, const Value& right) {
    const auto* left_members = left.as_object();
    const auto* right_members = right.as_object();
    if (!left_members || !right_members) {
        if (left_members || right_members)
            return false;
        if (left.data_.index() != right.data_.index())
            return false;
        return std::visit(
            [&right]<class T>(const T& held) {
                if constexpr (std::is_same_v<T, Value::Object>)
                    return false;
                else
                    return held == std::get<T>(right.data_);
            },
            left.data_);
    }
    return have_equal_members(*left_members, *right_members);
}

}  // namespace gpuprobe::inline base
