// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace gpuprobe::inline base {

/// A self-describing value: the common subset of JSON and D-Bus variants.
///
/// All data between processes and in files is a Value (worker frames, report, cache, captures,
/// bus), so no other component needs to know a JSON library. Objects keep the order in which
/// members were added, but comparing two objects ignores the order.
class Value {
public:
    struct Member;
    using Array = std::vector<Value>;
    using Object = std::vector<Member>;

    // The constructor is defined in the .cpp file, because Member is incomplete here.
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
    /// The number is stored as signed if it fits, so that equal numbers compare equal even if their
    /// original types differ.
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
    /// The name of the value's type: null, boolean, integer, number, string, array or object.
    [[nodiscard]] std::string_view type_name() const;

    // The following functions return nullptr or nullopt if the value has another type or does not
    // fit.
    [[nodiscard]] std::optional<bool> as_bool() const;
    [[nodiscard]] std::optional<std::int64_t> as_int() const;
    [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;
    [[nodiscard]] std::optional<double> as_double() const;
    [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&data_); }
    [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&data_); }
    [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&data_); }
    [[nodiscard]] Array* as_array() { return std::get_if<Array>(&data_); }
    [[nodiscard]] Object* as_object() { return std::get_if<Object>(&data_); }

    /// The member with the key `key`; nullptr if this value has no such member or isn't an object.
    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] Value* find(std::string_view key);
    /// The member with the key `key`, or a null value if there is no such member.
    [[nodiscard]] const Value& at(std::string_view key) const;
    /// The member with the key `key`, which is added if it is missing. A null value becomes an
    /// object.
    Value& operator[](std::string_view key);
    /// Appends an item to an array. A null value becomes an array.
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

/// A total order: by type, then by content. Objects compare by sorted keys, regardless of the order
/// of their members. The order agrees with == except for doubles: -0.0 sorts before 0.0, and a NaN
/// equals itself.
std::strong_ordering operator<=>(const Value& left, const Value& right);

/// Maximum depth of nesting. No format of this project uses more than a dozen levels.
constexpr int kMaxJsonDepth = 64;

/// Parses one JSON document.
///
/// Errors: TooLarge if the text is longer than `limit`; Malformed, with the path of the problem, if
/// the text isn't a single JSON document in UTF-8 (then also with the byte offset), if a key
/// appears twice in an object, or if there are more than kMaxJsonDepth levels.
Result<Value> parse_json(std::string_view text, Bytes limit);

/// Writes the value on one line, without spaces. Never fails: bytes that are not UTF-8 become
/// U+FFFD. Characters that are unsafe on a terminal (base/text.h) are written as escapes,
/// such as "\u202e".
std::string json_line(const Value& value);

/// Writes the value on several lines, indented by two spaces, with a final newline.
std::string json_pretty(const Value& value);

}  // namespace gpuprobe::inline base
