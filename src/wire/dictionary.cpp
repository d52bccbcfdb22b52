// SPDX-License-Identifier: Apache-2.0
#include "wire/dictionary.h"

#include <algorithm>

#include "wire/reply.h"

namespace gpuprobe::bus {
namespace {

// Receiving -------------------------------------------------------------------------------------

/// Limits for the contents of a message.
struct Limits {
    ErrorCode code = ErrorCode::InvalidRequest;
    int depth = kMaxReceivedDepth;
    std::size_t values = kMaxReceived;
    Bytes text = kMaxReceivedText;
    bool has_nulls = false;
};
/// Requests come from any user and are small; replies come from the daemon.
constexpr Limits kOfRequests;
constexpr Limits kOfAnswers{.code = ErrorCode::Malformed,
                            .depth = kMaxDepth,
                            .values = SIZE_MAX,
                            .text = mib(8),
                            .has_nulls = true};

/// Converts one message, and counts its values.
class Reader {
public:
    explicit Reader(const Limits& limits) : limits_{limits} {}
    Result<Value> read(const sdbus::Variant& variant, int depth);
    Result<Value> read(const Members& members, int depth);

private:
    template <class T>
    Result<Value> scalar(const sdbus::Variant& variant) {
        return Value{variant.get<T>()};
    }
    Result<Value> text(std::string text) {
        if (text.size() > limits_.text.count)
            return refused("a string is too long");
        return Value{std::move(text)};
    }
    Result<Value> item(const sdbus::Variant& variant, int depth) { return read(variant, depth); }
    Result<Value> item(const Members& members, int depth) { return read(members, depth); }
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
        // variant_from() writes null as an empty array of variants.
        if (std::is_same_v<T, sdbus::Variant> && items.empty() && limits_.has_nulls)
            return Value{};
        return Value{std::move(items)};
    }
    Result<Value> string_map(const sdbus::Variant& variant);
    Result<Value> container(const std::string& type, const sdbus::Variant& variant, int depth);

    [[nodiscard]] Error refused(std::string text) const { return {limits_.code, std::move(text)}; }
    Status enter(int depth) {
        if (depth >= limits_.depth)
            return refused("nested too deeply");
        return Done{};
    }
    Status count() {
        if (++count_ > limits_.values)
            return refused("too many values");
        return Done{};
    }

    const Limits& limits_;
    std::size_t count_ = 0;
};

Result<Value> Reader::read(const Members& members, int depth) {
    TRY(enter(depth));
    Value::Object object;
    for (const auto& [key, variant] : members.list) {
        TRY(count());
        // Keys are as untrusted as values.
        if (key.size() > limits_.text.count)
            return refused("a key is too long");
        auto value = read(variant, depth + 1);
        if (!value)
            // Errors contain the path of the value.
            return std::move(value).error().in(key);
        object.push_back(Value::Member{.key = key, .value = std::move(value).value()});
    }
    return Value{std::move(object)};
}

// a{ss} cannot contain other containers, so its depth needs no check.
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
        return read(variant.get<Members>(), depth);
    if (type == "a{ss}")
        return string_map(variant);
    if (type == "as")
        return array<std::string>(variant, depth);
    if (type == "ao")
        return array<sdbus::ObjectPath>(variant, depth);
    if (type == "av")
        return array<sdbus::Variant>(variant, depth);
    if (type == "aa{sv}")
        return array<Members>(variant, depth);
    if (type == "ax")
        return array<std::int64_t>(variant, depth);
    if (type == "at")
        return array<std::uint64_t>(variant, depth);
    if (type == "ai")
        return array<std::int32_t>(variant, depth);
    if (type == "au")
        return array<std::uint32_t>(variant, depth);
    return refused("unexpected type " + bus_text(type, Bytes{64}));
}

Result<Value> Reader::read(const sdbus::Variant& variant, int depth) {
    const std::string type = signature_in(variant);
    // Basic types have one letter, containers have more.
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

/// Runs `read`. sdbus-c++ throws if a message contradicts its own signature.
Result<Value> guarded(const auto& read, ErrorCode code) try {
    return read();
} catch (const sdbus::Error& problem) {
    return Error{code, problem.getMessage()};
}

// Sending ---------------------------------------------------------------------------------------

sdbus::Variant variant_at(const Value& value, int depth);

Members members_at(const Value& object, int depth) {
    Members members;
    // Content beyond the limits is omitted, because a shortened report is better than none.
    const auto* all = object.as_object();
    if (!all || depth >= kMaxDepth)
        return members;
    for (const auto& member : *all)
        if (members.list.size() < kMaxItems)
            members.list.emplace_back(bus_text(member.key, Bytes{256}),
                                      variant_at(member.value, depth + 1));
    return members;
}

template <class T>
sdbus::Variant array_of(const Value::Array& items, const auto& convert) {
    std::vector<T> list;
    for (const auto& item : items)
        if (list.size() < kMaxItems)
            list.push_back(convert(item));
    return sdbus::Variant{list};
}

sdbus::Variant array_variant(const Value::Array& items, int depth) {
    // The common types first; an empty array counts as strings. Too deep in, only strings are kept.
    if (depth >= kMaxDepth || std::ranges::all_of(items, &Value::is_string))
        return array_of<std::string>(items, [](const Value& item) {
            return item.is_string() ? bus_text(*item.as_string()) : std::string{};
        });
    if (std::ranges::all_of(items, &Value::is_object))
        return array_of<Members>(items,
                                 [&](const Value& item) { return members_at(item, depth + 1); });
    if (std::ranges::all_of(items, [](const Value& item) { return item.as_int().has_value(); }))
        return array_of<std::int64_t>(items, [](const Value& item) { return *item.as_int(); });
    return array_of<sdbus::Variant>(items,
                                    [&](const Value& item) { return variant_at(item, depth + 1); });
}

sdbus::Variant variant_at(const Value& value, int depth) {
    if (value.is_null())
        return sdbus::Variant{std::vector<sdbus::Variant>{}};
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
        return array_variant(*items, depth);
    return sdbus::Variant{members_at(value, depth)};
}

}  // namespace

sdbus::Message& operator<<(sdbus::Message& message, const Members& members) {
    message.openContainer("{sv}");
    for (const auto& [key, variant] : members.list) {
        message.openDictEntry("sv");
        message << key << variant;
        message.closeDictEntry();
    }
    message.closeContainer();
    return message;
}

// sdbus-c++ would read into a std::map, which loses the order of the members.
sdbus::Message& operator>>(sdbus::Message& message, Members& members) {
    if (!message.enterContainer("{sv}"))
        return message;
    while (message.enterDictEntry("sv")) {
        auto& [key, variant] = members.list.emplace_back();
        message >> key >> variant;
        message.exitDictEntry();
    }
    // enterDictEntry() sets the failure flag at the end of the array.
    message.clearFlags();
    message.exitContainer();
    return message;
}

Result<Value> value_from(const sdbus::Variant& variant) {
    return guarded([&] { return Reader{kOfRequests}.read(variant, 0); }, kOfRequests.code);
}

Result<Value> value_from(const Dictionary& dictionary) {
    Members members;
    // The dictionary's own order is alphabetical; the caller's order is lost by now.
    members.list.assign(dictionary.begin(), dictionary.end());
    return guarded([&] { return Reader{kOfRequests}.read(members, 0); }, kOfRequests.code);
}

Result<Value> data_from(const sdbus::Variant& variant) {
    return guarded([&] { return Reader{kOfAnswers}.read(variant, 0); }, kOfAnswers.code);
}

sdbus::Variant variant_from(const Value& value) {
    return variant_at(value, 0);
}

Dictionary dictionary_from(const Value& object) {
    const auto members = members_at(object, 0);
    return {members.list.begin(), members.list.end()};
}

// "duration_usec" → "DurationUsec": each word gets a capital, and underscores disappear.
std::string bus_key(std::string_view key) {
    std::string camel;
    bool starts_word = true;
    for (const char c : key) {
        if (c == '_') {
            starts_word = true;
            continue;
        }
        camel += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        starts_word = false;
    }
    return camel;
}

sdbus::ObjectPath DictionaryWriter::path_of(const std::string& id) const {
    // "/" means no object: D-Bus has no empty path.
    return sdbus::ObjectPath{encoding_.path_of ? encoding_.path_of(id) : "/"};
}

sdbus::Variant DictionaryWriter::variant_of(const std::vector<std::string>& texts,
                                            bool are_gpus) const {
    if (are_gpus) {
        std::vector<sdbus::ObjectPath> paths;
        for (const auto& id : texts)
            paths.push_back(path_of(id));
        return sdbus::Variant{paths};
    }
    std::vector<std::string> clean;
    for (const auto& text : texts)
        clean.push_back(bus_text(text));
    return sdbus::Variant{clean};
}

sdbus::Variant DictionaryWriter::variant_of(const std::map<std::string, std::string>& texts,
                                            bool) const {
    std::map<std::string, std::string> clean;
    for (const auto& [name, text] : texts)
        clean.emplace(bus_text(name), bus_text(text));
    return sdbus::Variant{clean};
}

// Reasons get display texts in addition to their code, so that clients need no catalog of texts.
Dictionary DictionaryWriter::dictionary_of(const Reason& reason) const {
    Dictionary entry{{"Code", sdbus::Variant{bus_text(reason.code)}}};
    if (encoding_.add_words)
        encoding_.add_words(reason, owner_, entry);
    // D-Bus clients need no empty dictionary.
    if (const auto* detail = reason.detail.as_object(); detail && !detail->empty())
        entry.emplace("Detail", variant_from(reason.detail));
    return entry;
}

void DictionaryReader::read(const sdbus::Variant& variant, bool is_gpu, std::string& member) {
    member = is_gpu ? id_of(variant.get<sdbus::ObjectPath>()) : variant.get<std::string>();
}

void DictionaryReader::read(const sdbus::Variant& variant,
                            bool are_gpus,
                            std::vector<std::string>& member) {
    member.clear();
    if (!are_gpus)
        member = variant.get<std::vector<std::string>>();
    else
        for (const auto& path : variant.get<std::vector<sdbus::ObjectPath>>())
            member.push_back(id_of(path));
}

std::string DictionaryReader::id_of(const std::string& path) const {
    // A GPU may have disappeared since the reply was sent.
    const auto found = ids_.find(path);
    return found == ids_.end() ? path : found->second;
}

}  // namespace gpuprobe::bus
