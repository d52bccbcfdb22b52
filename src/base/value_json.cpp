// SPDX-License-Identifier: Apache-2.0
#include "base/value_json.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/characters.h"
#include "base/parse.h"

namespace gpuprobe::inline base {
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
        // The library's message quotes the input. Report only the offset, so that nothing is
        // echoed.
        problem_ = reason.id == 101 && offset == 0
                       ? "no document"
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
    /// large ones get an index, because the linear search would take quadratic time.
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

    /// The path of the current position ("platforms.linux-x86_64.variants[3]: "). Its length is
    /// limited, because the input chooses the keys.
    [[nodiscard]] std::string path() const {
        constexpr std::size_t kMaxPath = 256;
        std::string path;
        for (std::size_t i = 0; i < open_.size() && path.size() <= kMaxPath; ++i) {
            const auto* items = open_[i]->as_array();
            // An outer container already has the item that is being parsed; the innermost does
            // not.
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

    /// Adds a value to the innermost open container. Returns its address there.
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
        // Only the innermost open container grows, so pointers to the outer ones stay valid.
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
    /// For each open container: the index of its keys, empty while it has few.
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

/// "\\u202e", or a surrogate pair for a character above U+FFFF.
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

/// Replaces unprintable characters by escapes. The document keeps its meaning, and a terminal shows
/// every character. Such characters occur only inside strings, where escapes are allowed.
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
    // The parser reports problems through Builder::parse_error(); this is for anything it throws
    // instead.
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
