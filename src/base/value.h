// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpuprobe::inline base {

/// A self-describing value: what JSON and a D-Bus variant have in common.
///
/// It is the only form in which data crosses a border (worker frames, report, cache, captures,
/// bus), so that no room but this one knows a JSON library. Objects keep the order in which members
/// were added; equality of objects ignores that order.
class Value {
public:
    struct Member;
    using Array = std::vector<Value>;
    using Object = std::vector<Member>;

    // Defined out of line: Member is complete only below.
    Value();
    ~Value();
    Value(const Value& other);
    Value(Value&& other) noexcept;
    Value& operator=(const Value& other);
    Value& operator=(Value&& other) noexcept;

    Value(std::nullptr_t);
    Value(bool flag);
    Value(int number);
    Value(unsigned number);
    Value(long number);
    Value(long long number);
    /// Numbers that fit are kept signed, so that equal numbers compare equal.
    Value(unsigned long number);
    Value(unsigned long long number);
    Value(double number);
    Value(const char* text);
    Value(std::string text);
    Value(std::string_view text);
    Value(Array items);
    Value(Object members);

    [[nodiscard]] bool is_null() const { return data_.index() == 0; }
    [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(data_); }
    [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(data_); }
    /// The name of the held type: null, boolean, integer, number, string, array or object.
    [[nodiscard]] std::string_view type_name() const;

    // Each is null or nullopt when the value has another type (or does not fit).
    [[nodiscard]] std::optional<bool> as_bool() const;
    [[nodiscard]] std::optional<std::int64_t> as_int() const;
    [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;
    [[nodiscard]] std::optional<double> as_double() const;
    [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&data_); }
    [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&data_); }
    [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&data_); }
    [[nodiscard]] Array* as_array() { return std::get_if<Array>(&data_); }
    [[nodiscard]] Object* as_object() { return std::get_if<Object>(&data_); }

    /// The member of that key; null when there is none or this is no object.
    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] Value* find(std::string_view key);
    /// The member of that key, or a null value.
    [[nodiscard]] const Value& at(std::string_view key) const;
    /// The member of that key, made when missing. Makes an object of a null value.
    Value& operator[](std::string_view key);
    /// Appends to an array. Makes an array of a null value.
    void push_back(Value item);

    friend bool operator==(const Value& left, const Value& right);
    friend std::strong_ordering operator<=>(const Value& left, const Value& right);

private:
    void set_unsigned(std::uint64_t number);

    std::variant<std::monostate,
                 bool,
                 std::int64_t,
                 std::uint64_t,
                 double,
                 std::string,
                 Array,
                 Object>
        data_;
};

struct Value::Member {
    std::string key = {};
    Value value = {};
};

bool operator==(const Value& left, const Value& right);

/// A total order: by type, then by content; of objects by key, whatever the order of their members.
/// What compares equal is the same value, but for -0.0 and NaN, which have places of their own.
std::strong_ordering operator<=>(const Value& left, const Value& right);

}  // namespace gpuprobe::inline base
