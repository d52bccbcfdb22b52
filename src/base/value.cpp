// SPDX-License-Identifier: Apache-2.0
#include "base/value.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"

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
    // The names of the types, by the index of the variant. Both integer alternatives have the same
    // name.
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
    // set_unsigned() stores only numbers over 2^63 - 1 as std::uint64_t.
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
    // A linear search is fast enough, because most objects are small.
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

/// Compares two objects. As long as both objects have the same order of keys, which is nearly
/// always the case, compares member by member. Looks up the remaining keys through an index,
/// because a driver may report thousands of facts in any order.
bool have_equal_members(const Value::Object& left, const Value::Object& right) {
    if (left.size() != right.size())
        return false;
    // Compare the leading members that have the same keys in both objects.
    const auto [rest, other] =
        std::ranges::mismatch(left, right, {}, &Value::Member::key, &Value::Member::key);
    for (auto l = left.begin(), r = right.begin(); l != rest; ++l, ++r)
        if (l->value != r->value)
            return false;
    // Objects of equal size with unique keys are equal if each key of one object has the same value
    // in the other object.
    std::unordered_map<std::string_view, const Value*> values;
    for (auto r = other; r != right.end(); ++r)
        values.emplace(r->key, &r->value);
    return std::all_of(rest, left.end(), [&values](const Value::Member& member) {
        const auto found = values.find(member.key);
        return found != values.end() && member.value == *found->second;
    });
}

/// Pointers to the members, sorted by key.
std::vector<const Value::Member*> members_by_key(const Value::Object& members) {
    std::vector<const Value::Member*> sorted;
    for (const auto& member : members)
        sorted.push_back(&member);
    std::ranges::stable_sort(sorted, {}, &Value::Member::key);
    return sorted;
}

/// Compares lexicographically: by the first key, by the value of the first key, by the second key,
/// and so on.
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
            // Use strong_order(), which also defines an order for NaN; the operator <=> of doubles
            // does not.
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

namespace {

using Json = nlohmann::ordered_json;

/// Builds a Value from the parser's events, which allows checking depth and duplicate keys before
/// memory is allocated for the content.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
public:
    bool null() override { return add(Value{}); }
    bool boolean(bool flag) override { return add(Value{flag}); }
    bool number_integer(number_integer_t number) override { return add(Value{number}); }
    bool number_unsigned(number_unsigned_t number) override { return add(Value{number}); }
    bool number_float(number_float_t number, const string_t&) override {
        return add(Value{number});
    }
    bool string(string_t& text) override { return add(Value{std::move(text)}); }
    bool binary(binary_t&) override { return refuse("binary data"); }
    bool start_object(std::size_t) override { return open(Value{Value::Object{}}); }
    bool start_array(std::size_t) override { return open(Value{Value::Array{}}); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        const bool is_new = is_new_key(name);
        key_ = std::move(name);
        return is_new || refuse("a key appears twice");
    }

    bool parse_error(std::size_t offset,
                     const std::string&,
                     const nlohmann::json::exception& reason) override {
        // The library's message quotes the input. Report only the offset, so that the error
        // contains no input.
        problem_ = reason.id == 101 && offset == 0
                       ? "empty document"
                       : path() + "not JSON at byte " + std::to_string(offset);
        return false;
    }

    [[nodiscard]] const std::string& problem() const { return problem_; }
    Value take() { return std::move(root_); }

private:
    bool refuse(const char* problem) {
        problem_ = path() + problem;
        return false;
    }

    /// Whether the innermost object does not have the key yet. Small objects are searched linearly;
    /// for large objects an index is used, because linear searches would take quadratic time.
    bool is_new_key(const std::string& name) {
        constexpr std::size_t kFew = 16;
        const auto& members = *open_.back()->as_object();
        if (members.size() < kFew)
            return std::ranges::find(members, name, &Value::Member::key) == members.end();
        auto& keys = keys_.back();
        if (keys.empty())
            for (const auto& member : members)
                keys.insert(member.key);
        return keys.insert(name).second;
    }

    /// The path of the current position ("platforms.linux-x86_64.variants[3]: "). The length of the
    /// path is limited, because the input chooses the keys.
    [[nodiscard]] std::string path() const {
        constexpr std::size_t kMaxPath = 256;
        std::string path;
        for (std::size_t i = 0; i < open_.size() && path.size() <= kMaxPath; ++i) {
            const auto* items = open_[i]->as_array();
            // An outer container already contains the item that is being parsed; the innermost
            // container does not.
            const bool is_innermost = i + 1 == open_.size();
            if (items) {
                path += "[" + std::to_string(items->size() - (is_innermost ? 0 : 1)) + "]";
                continue;
            }
            const auto& key = is_innermost ? key_ : open_[i]->as_object()->back().key;
            if (!key.empty())
                path += (path.empty() ? "" : ".") + scrubbed(key, kMaxPath / 4);
        }
        return path.empty() ? path : scrubbed(path, kMaxPath) + ": ";
    }

    /// Adds a value to the innermost open container. Returns the address of the value in this
    /// container.
    Value* place(Value value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        if (auto* items = open_.back()->as_array()) {
            items->push_back(std::move(value));
            return &items->back();
        }
        auto* members = open_.back()->as_object();
        members->push_back(Value::Member{.key = std::move(key_), .value = std::move(value)});
        return &members->back().value;
    }

    bool add(Value value) {
        place(std::move(value));
        return true;
    }

    bool open(Value value) {
        if (open_.size() >= kMaxJsonDepth)
            return refuse("nested too deeply");
        // Only the innermost open container grows, so pointers to the outer containers stay valid.
        open_.push_back(place(std::move(value)));
        keys_.emplace_back();
        return true;
    }

    bool close() {
        open_.pop_back();
        keys_.pop_back();
        return true;
    }

    Value root_ = {};
    /// The containers around the current position, outermost first.
    std::vector<Value*> open_ = {};
    /// For each open container: the index of its keys, which is empty as long as there are few
    /// keys.
    std::vector<std::unordered_set<std::string>> keys_ = {};
    std::string key_ = {};
    std::string problem_ = {};
};

Json to_json(const Value& value) {
    if (const auto* text = value.as_string())
        return *text;
    if (const auto flag = value.as_bool())
        return *flag;
    if (const auto number = value.as_int())
        return *number;
    if (const auto number = value.as_unsigned())
        return *number;
    if (const auto number = value.as_double())
        return *number;
    if (const auto* items = value.as_array()) {
        auto list = Json::array();
        for (const auto& item : *items)
            list.push_back(to_json(item));
        return list;
    }
    if (const auto* members = value.as_object()) {
        auto object = Json::object();
        for (const auto& member : *members)
            object.get_ref<Json::object_t&>().emplace_back(member.key, to_json(member.value));
        return object;
    }
    return nullptr;
}

/// Escapes a character as "\\u202e", or as a surrogate pair for a character above U+FFFF.
std::string json_escape(char32_t point) {
    const auto unit = [](char32_t value) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        std::string text = "\\u";
        for (unsigned shift = 16; shift > 0; shift -= 4)
            text += kDigits[(value >> (shift - 4)) & 0xFU];
        return text;
    };
    constexpr char32_t kBeyond = 0x10000;
    if (point < kBeyond)
        return unit(point);
    return unit(0xD800 + ((point - kBeyond) >> 10U)) + unit(0xDC00 + (point & 0x3FFU));
}

/// Replaces unprintable characters with escapes. The document keeps its meaning, and a terminal
/// shows every character. Unprintable characters occur only inside strings, where escapes are
/// allowed.
std::string with_escapes(std::string json) {
    // Control characters below U+0020 were already escaped by the library.
    const auto is_plain = [](char c) { return c >= 0 && c != '\x7F'; };
    if (std::ranges::all_of(json, is_plain))
        return json;
    std::string text;
    for (std::string_view rest = json; !rest.empty();) {
        const auto character = first_character(rest);
        const auto point = character.point.value_or(0xFFFD);
        if (is_plain(rest.front()) || !is_unprintable(point))
            text += rest.substr(0, character.bytes);
        else
            text += json_escape(point);
        rest.remove_prefix(character.bytes);
    }
    return text;
}

constexpr auto kReplaceBadBytes = Json::error_handler_t::replace;

}  // namespace

Result<Value> parse_json(std::string_view text, Bytes limit) try {
    if (text.size() > limit.count)
        return Error{ErrorCode::TooLarge, "over " + std::to_string(limit.count) + " bytes"};
    Builder builder;
    if (!nlohmann::json::sax_parse(text, &builder))
        return Error{ErrorCode::Malformed, builder.problem()};
    return builder.take();
    // The parser reports problems through Builder::parse_error(); this code handles any exception
    // that the parser throws instead.
} catch (const nlohmann::json::exception&) {
    return Error{ErrorCode::Malformed, "not JSON"};
}

std::string json_line(const Value& value) {
    return with_escapes(to_json(value).dump(-1, ' ', false, kReplaceBadBytes));
}

std::string json_pretty(const Value& value) {
    return with_escapes(to_json(value).dump(2, ' ', false, kReplaceBadBytes)) + "\n";
}

}  // namespace gpuprobe::inline base
