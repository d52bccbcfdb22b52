// SPDX-License-Identifier: Apache-2.0
#include "wire/value.h"

#include <algorithm>

#include "wire/text.h"

namespace gpuprobe::bus {
namespace {

// Receiving -------------------------------------------------------------------------------------

/// Reads one request; counts what it holds.
class Reader {
public:
    Result<Value> read(const sdbus::Variant& variant, int depth);
    Result<Value> read(const Dictionary& dictionary, int depth);

private:
    template <class T>
    Result<Value> scalar(const sdbus::Variant& variant) {
        return Value{variant.get<T>()};
    }
    Result<Value> text(std::string text) {
        if (text.size() > kMaxReceivedText.count)
            return Error{ErrorCode::InvalidRequest, "a string is too long"};
        return Value{std::move(text)};
    }
    Result<Value> item(const sdbus::Variant& variant, int depth) { return read(variant, depth); }
    Result<Value> item(const Dictionary& members, int depth) { return read(members, depth); }
    Result<Value> item(const std::string& content, int) { return text(content); }
    Result<Value> item(std::int64_t number, int) { return Value{number}; }
    Result<Value> item(std::uint64_t number, int) { return Value{number}; }
    Result<Value> item(std::int32_t number, int) { return Value{number}; }
    Result<Value> item(std::uint32_t number, int) { return Value{number}; }

    template <class T>
    Result<Value> array(const sdbus::Variant& variant, int depth) {
        TRY(enter(depth));
        Value::Array items;
        for (const auto& element : variant.get<std::vector<T>>()) {
            TRY(count());
            items.push_back(TRY(item(element, depth + 1)));
        }
        return Value{std::move(items)};
    }
    Result<Value> string_map(const sdbus::Variant& variant);
    Result<Value> container(const std::string& type, const sdbus::Variant& variant, int depth);

    Status enter(int depth) {
        if (depth >= kMaxReceivedDepth)
            return Error{ErrorCode::InvalidRequest, "nested too deeply"};
        return Done{};
    }
    Status count() {
        if (++count_ > kMaxReceived)
            return Error{ErrorCode::InvalidRequest, "too many values"};
        return Done{};
    }

    std::size_t count_ = 0;
};

Result<Value> Reader::read(const Dictionary& dictionary, int depth) {
    TRY(enter(depth));
    Value::Object members;
    for (const auto& [key, variant] : dictionary) {
        TRY(count());
        if (key.size() > kMaxReceivedText.count)
            return Error{ErrorCode::InvalidRequest, "a key is too long"};
        auto value = read(variant, depth + 1);
        if (!value)
            return std::move(value).error().in(key);
        members.push_back(Value::Member{.key = key, .value = std::move(value).value()});
    }
    return Value{std::move(members)};
}

Result<Value> Reader::string_map(const sdbus::Variant& variant) {
    Value::Object members;
    for (const auto& [key, content] : variant.get<std::map<std::string, std::string>>()) {
        TRY(count());
        members.push_back(Value::Member{.key = key, .value = TRY(text(content))});
    }
    return Value{std::move(members)};
}

Result<Value> Reader::container(const std::string& type, const sdbus::Variant& variant, int depth) {
    if (type == "a{sv}")
        return read(variant.get<Dictionary>(), depth);
    if (type == "a{ss}")
        return string_map(variant);
    if (type == "as")
        return array<std::string>(variant, depth);
    if (type == "ao")
        return array<sdbus::ObjectPath>(variant, depth);
    if (type == "av")
        return array<sdbus::Variant>(variant, depth);
    if (type == "aa{sv}")
        return array<Dictionary>(variant, depth);
    if (type == "ax")
        return array<std::int64_t>(variant, depth);
    if (type == "at")
        return array<std::uint64_t>(variant, depth);
    if (type == "ai")
        return array<std::int32_t>(variant, depth);
    if (type == "au")
        return array<std::uint32_t>(variant, depth);
    return Error{ErrorCode::InvalidRequest, "unexpected type " + bus_text(type, Bytes{64})};
}

Result<Value> Reader::read(const sdbus::Variant& variant, int depth) {
    const std::string type = signature_in(variant);
    if (type.size() != 1)
        return container(type, variant, depth);
    switch (type.front()) {
        case 'b':
            return scalar<bool>(variant);
        case 'y':
            return scalar<std::uint8_t>(variant);
        case 'n':
            return scalar<std::int16_t>(variant);
        case 'q':
            return scalar<std::uint16_t>(variant);
        case 'i':
            return scalar<std::int32_t>(variant);
        case 'u':
            return scalar<std::uint32_t>(variant);
        case 'x':
            return scalar<std::int64_t>(variant);
        case 't':
            return scalar<std::uint64_t>(variant);
        case 'd':
            return scalar<double>(variant);
        case 's':
            return text(variant.get<std::string>());
        case 'o':
            return text(variant.get<sdbus::ObjectPath>());
        case 'g':
            return text(variant.get<sdbus::Signature>());
        case 'v':
            TRY(enter(depth));
            return read(variant.get<sdbus::Variant>(), depth + 1);
        default:
            return container(type, variant, depth);
    }
}

/// What the library throws on a message that contradicts its own signature.
Result<Value> guarded(const auto& read) try { return read(); } catch (const sdbus::Error& problem) {
    return Error{ErrorCode::InvalidRequest, problem.getMessage()};
}

// Sending ---------------------------------------------------------------------------------------

enum class Keys { AsTheyAre, Record };

/// "duration_usec" → "DurationUsec".
std::string camel_case(std::string_view key) {
    std::string camel;
    bool start = true;
    for (const char c : key) {
        if (c == '_') {
            start = true;
            continue;
        }
        camel += start && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        start = false;
    }
    return camel;
}

sdbus::Variant variant_at(const Value& value, int depth, Keys keys);

Dictionary dictionary_at(const Value& object, int depth, Keys keys) {
    Dictionary dictionary;
    const auto* members = object.as_object();
    if (!members || depth >= kMaxDepth)
        return dictionary;
    for (const auto& member : *members) {
        if (member.value.is_null() || dictionary.size() >= kMaxItems)
            continue;
        const bool data = member.key == "detail" || member.key == "device";
        auto key = keys == Keys::Record ? camel_case(member.key) : member.key;
        dictionary.emplace(bus_text(key, Bytes{256}),
                           variant_at(member.value, depth + 1, data ? Keys::AsTheyAre : keys));
    }
    return dictionary;
}

template <class T>
sdbus::Variant array_of(const Value::Array& items, const auto& convert) {
    std::vector<T> list;
    for (const auto& item : items)
        if (!item.is_null() && list.size() < kMaxItems)
            list.push_back(convert(item));
    return sdbus::Variant{list};
}

bool all(const Value::Array& items, const auto& has_type) {
    return std::ranges::all_of(items,
                               [&](const Value& item) { return item.is_null() || has_type(item); });
}

sdbus::Variant array_variant(const Value::Array& items, int depth, Keys keys) {
    if (depth >= kMaxDepth || all(items, [](const Value& item) { return item.is_string(); }))
        return array_of<std::string>(items, [](const Value& item) {
            return item.is_string() ? bus_text(*item.as_string()) : std::string{};
        });
    if (all(items, [](const Value& item) { return item.is_object(); }))
        return array_of<Dictionary>(
            items, [&](const Value& item) { return dictionary_at(item, depth + 1, keys); });
    if (all(items, [](const Value& item) { return item.as_int().has_value(); }))
        return array_of<std::int64_t>(items, [](const Value& item) { return *item.as_int(); });
    return array_of<sdbus::Variant>(
        items, [&](const Value& item) { return variant_at(item, depth + 1, keys); });
}

sdbus::Variant variant_at(const Value& value, int depth, Keys keys) {
    if (const auto flag = value.as_bool())
        return sdbus::Variant{*flag};
    if (const auto number = value.as_int())
        return sdbus::Variant{*number};
    if (const auto number = value.as_unsigned())
        return sdbus::Variant{*number};
    if (const auto number = value.as_double())
        return sdbus::Variant{*number};
    if (const auto* content = value.as_string())
        return sdbus::Variant{bus_text(*content)};
    if (const auto* items = value.as_array())
        return array_variant(*items, depth, keys);
    return sdbus::Variant{dictionary_at(value, depth, keys)};
}

}  // namespace

Result<Value> value_from(const sdbus::Variant& variant) {
    return guarded([&] { return Reader{}.read(variant, 0); });
}

Result<Value> value_from(const Dictionary& dictionary) {
    return guarded([&] { return Reader{}.read(dictionary, 0); });
}

Dictionary dictionary_from(const Value& object) {
    return dictionary_at(object, 0, Keys::AsTheyAre);
}

Dictionary record_dictionary(const Value& record) {
    return dictionary_at(record, 0, Keys::Record);
}

std::vector<Dictionary> record_dictionaries(const Value& records) {
    std::vector<Dictionary> list;
    if (const auto* items = records.as_array())
        for (const auto& item : *items)
            if (item.is_object() && list.size() < kMaxItems)
                list.push_back(record_dictionary(item));
    return list;
}

}  // namespace gpuprobe::bus
