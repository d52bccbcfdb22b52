// SPDX-License-Identifier: Apache-2.0
#include "wire/bus.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "wire/varlink.h"

namespace gpuprobe::bus {
namespace {

// Text ------------------------------------------------------------------------------------------

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The first character of a string. `length` is 0 if the character is malformed.
struct Character {
    std::size_t length = 0;
    char32_t code = 0;
};

bool is_allowed(char32_t code) {
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    const bool non_character = (code >= 0xFDD0 && code <= 0xFDEF) || (code & 0xFFFE) == 0xFFFE;
    return code != 0 && code <= 0x10FFFF && !surrogate && !non_character;
}

/// Length in bytes according to the first byte; 0 if no character can start with this byte.
std::size_t announced_length(std::uint8_t lead) {
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead < 0xE0)
        return 2;
    if (lead >= 0xE0 && lead < 0xF0)
        return 3;
    return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

Character first_character(std::string_view text) {
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const auto lead = static_cast<std::uint8_t>(text.front());
    const auto length = announced_length(lead);
    if (length == 0 || length > text.size())
        return {};
    if (length == 1)
        return {.length = 1, .code = lead};
    char32_t code = lead & (0x7FU >> length);
    for (const char byte : text.substr(1, length - 1)) {
        const auto bits = static_cast<std::uint8_t>(byte);
        if ((bits & 0xC0) != 0x80)
            return {};
        code = (code << 6) | (bits & 0x3FU);
    }
    // The encoding is longer than necessary.
    if (code < kSmallest[length])
        return {};
    return {.length = length, .code = code};
}

/// Whether the byte is an ASCII character other than NUL. A string that contains only these bytes
/// needs no conversion.
bool is_plain(char byte) {
    return static_cast<signed char>(byte) > 0;
}

// Receiving -------------------------------------------------------------------------------------

Error refused(std::string text) {
    return {ErrorCode::InvalidRequest, std::move(text)};
}

/// Reads one argument and counts its values, because any user may send a call.
class Reader {
public:
    using Wants = std::function<bool(std::string_view key)>;

    Reader(sd_bus_message* message, const Wants& wants) : message_{message}, wants_{wants} {}

    /// The next value of the current container; nullopt at its end.
    Result<std::optional<Value>> next(int depth);

private:
    template <class T>
    Result<std::optional<Value>> number(char type) {
        T read{};
        if (sd_bus_message_read_basic(message_, type, &read) < 0)
            return malformed();
        if constexpr (std::is_floating_point_v<T>)
            return std::optional{Value{read}};
        else if constexpr (std::is_signed_v<T>)
            return std::optional{Value{static_cast<long long>(read)}};
        else
            return std::optional{Value{static_cast<unsigned long long>(read)}};
    }
    Result<std::string> text(char type, int depth);
    Result<std::optional<Value>> basic(char type, int depth);
    Result<Value> array(std::string_view item, int depth);
    Result<Value> members(int depth);
    Result<Value> texts();
    static Error malformed() { return refused("malformed message"); }
    static Status enter(int depth) {
        if (depth >= kMaxReceivedDepth)
            return refused("nested too deeply");
        return Done{};
    }
    Status count() {
        if (++count_ > kMaxReceived)
            return refused("too many values");
        return Done{};
    }
    Status open(char type, const char* contents) {
        if (sd_bus_message_enter_container(message_, type, contents) < 0)
            return malformed();
        return Done{};
    }
    Status close() {
        if (sd_bus_message_exit_container(message_) < 0)
            return malformed();
        return Done{};
    }
    /// Whether the current container has more items.
    [[nodiscard]] bool has_more() const { return sd_bus_message_at_end(message_, 0) == 0; }

    sd_bus_message* message_;
    const Wants& wants_;
    std::size_t count_ = 0;
};

/// Whether two members have the same key.
bool has_a_key_twice(const Value::Object& members) {
    std::vector<std::string_view> keys;
    for (const auto& member : members)
        keys.push_back(member.key);
    std::ranges::sort(keys);
    return std::ranges::adjacent_find(keys) != keys.end();
}

Result<std::string> Reader::text(char type, int depth) {
    const char* read = nullptr;
    if (sd_bus_message_read_basic(message_, type, &read) < 0)
        return malformed();
    std::string_view content{read};
    // A string that is a separate argument may be a whole manifest.
    if (depth > 0 && content.size() > kMaxReceivedText.count)
        return refused("a string is too long");
    return std::string{content};
}

Result<std::optional<Value>> Reader::basic(char type, int depth) {
    switch (type) {
        case 'b': {
            int flag = 0;
            if (sd_bus_message_read_basic(message_, type, &flag) < 0)
                return malformed();
            return std::optional{Value{flag != 0}};
        }
        case 'y':
            return number<std::uint8_t>(type);
        case 'n':
            return number<std::int16_t>(type);
        case 'q':
            return number<std::uint16_t>(type);
        case 'i':
            return number<std::int32_t>(type);
        case 'u':
            return number<std::uint32_t>(type);
        case 'x':
            return number<std::int64_t>(type);
        case 't':
            return number<std::uint64_t>(type);
        case 'd':
            return number<double>(type);
        case 's':
        case 'o':
        case 'g':
            return std::optional{Value{TRY(text(type, depth))}};
        default:
            return refused("unexpected type " + bus_text(std::string_view{&type, 1}));
    }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as kMaxReceivedDepth
Result<std::optional<Value>> Reader::next(int depth) {
    char type = 0;
    const char* contents = nullptr;
    const int found = sd_bus_message_peek_type(message_, &type, &contents);
    if (found < 0)
        return malformed();
    if (found == 0)
        return std::optional<Value>{};
    if (type == SD_BUS_TYPE_VARIANT) {
        TRY(enter(depth));
        TRY(open(type, contents));
        auto inner = TRY(next(depth + 1));
        TRY(close());
        return inner;
    }
    if (type == SD_BUS_TYPE_ARRAY)
        return std::optional{TRY(array(contents, depth))};
    return basic(type, depth);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as kMaxReceivedDepth
Result<Value> Reader::array(std::string_view item, int depth) {
    constexpr std::string_view kPlain[] = {"s", "o", "v", "x", "t", "i", "u", "a{sv}"};
    const bool is_dictionary = item == "{sv}" || item == "{ss}";
    if (!is_dictionary && std::ranges::find(kPlain, item) == std::end(kPlain))
        return refused("unexpected type " + bus_text("a" + std::string{item}, Bytes{64}));
    TRY(enter(depth));
    TRY(open(SD_BUS_TYPE_ARRAY, std::string{item}.c_str()));
    if (is_dictionary) {
        auto read = item == "{sv}" ? TRY(members(depth)) : TRY(texts());
        TRY(close());
        return read;
    }
    Value::Array items;
    while (auto one = TRY(next(depth + 1))) {
        TRY(count());
        items.push_back(std::move(*one));
    }
    TRY(close());
    return Value{std::move(items)};
}

/// The members of the a{sv} that was entered, in the order of the message.
// NOLINTNEXTLINE(misc-no-recursion): as deep as kMaxReceivedDepth
Result<Value> Reader::members(int depth) {
    Value::Object object;
    while (has_more()) {
        TRY(count());
        TRY(open(SD_BUS_TYPE_DICT_ENTRY, "sv"));
        const char* key = nullptr;
        if (sd_bus_message_read_basic(message_, 's', &key) < 0)
            return malformed();
        // Keys are as untrusted as values.
        if (std::string_view{key}.size() > kMaxReceivedText.count)
            return refused("a key is too long");
        std::string name{key};
        if (depth == 0 && wants_ && !wants_(name)) {
            if (sd_bus_message_skip(message_, "v") < 0)
                return malformed();
            TRY(close());
            continue;
        }
        TRY(open(SD_BUS_TYPE_VARIANT, nullptr));
        auto value = next(depth + 1);
        if (!value)
            return std::move(value).error().in(name);
        TRY(close());
        TRY(close());
        object.push_back(Value::Member{.key = std::move(name), .value = std::move(**value)});
    }
    if (has_a_key_twice(object))
        return refused("a key appears twice");
    return Value{std::move(object)};
}

/// The members of the a{ss} that was entered, which contain no other containers.
Result<Value> Reader::texts() {
    Value::Object object;
    while (has_more()) {
        TRY(count());
        TRY(open(SD_BUS_TYPE_DICT_ENTRY, "ss"));
        auto key = TRY(text('s', 1));
        auto content = TRY(text('s', 1));
        TRY(close());
        object.push_back(Value::Member{.key = std::move(key), .value = Value{std::move(content)}});
    }
    return Value{std::move(object)};
}

// Sending ---------------------------------------------------------------------------------------

void must(int result) {
    if (result < 0)
        throw std::system_error{-result, std::generic_category(), "a message for the bus"};
}

/// Whether the member with this key holds ids of GPUs.
bool names_gpus(std::string_view key) {
    return key == "gpu" || key == "gpus" || key == "also";
}

const Value& nothing() {
    static const Value none;
    return none;
}

const MemberType& json_type() {
    static const MemberType type;
    return type;
}

/// The D-Bus type of a JSON array. An empty array counts as an array of strings. If the nesting is
/// too deep, only strings are kept.
std::string array_signature(const Value::Array& items, int depth) {
    if (depth >= kMaxDepth || std::ranges::all_of(items, &Value::is_string))
        return "as";
    if (std::ranges::all_of(items, &Value::is_object))
        return "aa{sv}";
    if (std::ranges::all_of(items, [](const Value& item) { return item.as_int().has_value(); }))
        return "ax";
    return "av";
}

/// The D-Bus type of a JSON value.
std::string json_signature(const Value& value, int depth) {
    if (value.is_null())
        return "av";
    if (value.as_bool())
        return "b";
    if (value.as_int())
        return "x";
    if (value.as_unsigned())
        return "t";
    if (value.as_double())
        return "d";
    if (value.is_string())
        return "s";
    const auto* items = value.as_array();
    return items ? array_signature(*items, depth) : "a{sv}";
}

/// Whether a member of a record is left out, because it is null, or because it is empty and an
/// object without a type or a rare list or map.
bool is_left_out(const Value& value, const MemberType& type) {
    const bool is_data = type.kind == MemberType::Kind::Json && value.is_object();
    return value.is_null() || ((is_data || type.is_rare) && is_empty(value));
}

/// The type without Nullable.
const MemberType& known(const MemberType& type) {
    return type.kind == MemberType::Kind::Nullable ? type.item.front() : type;
}

}  // namespace

std::string bus_text(std::string_view text, Bytes limit) {
    // Nearly all strings are short ASCII and need no decoding.
    if (text.size() <= limit.count && std::ranges::all_of(text, is_plain))
        return std::string{text};
    std::string clean;
    clean.reserve(std::min<std::size_t>(text.size(), limit.count));
    while (!text.empty()) {
        const auto character = first_character(text);
        // Only the malformed byte is replaced; decoding continues with the next byte.
        const auto length = std::max<std::size_t>(character.length, 1);
        const bool keep = character.length != 0 && is_allowed(character.code);
        const auto piece = keep ? text.substr(0, length) : kReplacement;
        if (clean.size() + piece.size() > limit.count)
            break;
        clean += piece;
        text.remove_prefix(length);
    }
    return clean;
}

sdbus::Error sdbus_error(const Error& error) {
#ifdef GPUPROBE_SDBUS_2
    using Name = sdbus::Error::Name;
#else
    using Name = std::string;
#endif
    return sdbus::Error{Name{error_name(error.code)}, bus_text(error.text, kMaxErrorText)};
}

Result<Value> read_argument(sd_bus_message* message,
                            const std::function<bool(std::string_view)>& wants) {
    auto read = Reader{message, wants}.next(0);
    if (!read)
        return read.error();
    if (!*read)
        return refused("an argument is missing");
    return std::move(**read);
}

bool is_empty(const Value& value) {
    const auto* items = value.as_array();
    const auto* members = value.as_object();
    return value.is_null() || (items && items->empty()) || (members && members->empty());
}

// "duration_usec" → "DurationUsec": each word begins with a capital letter, and underscores are
// removed.
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

void MessageBody::open(char type, std::string_view contents) {
    add_text(type, contents);
}

void MessageBody::close() {
    steps_.push_back({.kind = ')'});
}

void MessageBody::add_text(char type, std::string_view text) {
    steps_.push_back({.kind = type, .value = texts_.size()});
    texts_.append(text).append(1, '\0');
}

void MessageBody::add_number(char type, std::uint64_t bits) {
    steps_.push_back({.kind = type, .value = bits});
}

void MessageBody::append_to(sd_bus_message* message) const {
    for (const auto& [kind, value] : steps_) {
        switch (kind) {
            case ')':
                must(sd_bus_message_close_container(message));
                break;
            case 'a':
            case 'e':
            case 'v':
                must(sd_bus_message_open_container(message, kind, texts_.data() + value));
                break;
            case 's':
            case 'o':
                must(sd_bus_message_append_basic(message, kind, texts_.data() + value));
                break;
            case 'b':
            case 'h':
            case 'u': {
                const auto number = static_cast<std::uint32_t>(value);
                must(sd_bus_message_append_basic(message, kind, &number));
                break;
            }
            default:
                must(sd_bus_message_append_basic(message, kind, &value));
        }
    }
}

void MessageWriter::append(std::string_view signature, const Value& value, const MemberType& type) {
    // A map of strings that is a separate argument has keys in the style of D-Bus, like records.
    const bool is_map = signature == "a{ss}" && type.kind == MemberType::Kind::Map;
    if (const auto* members = is_map ? value.as_object() : nullptr) {
        Value spelled{Value::Object{}};
        for (const auto& member : *members)
            spelled.as_object()->push_back({.key = bus_key(member.key), .value = member.value});
        return content(signature, spelled, type, 0);
    }
    content(signature, value, type, 0);
}

void MessageWriter::text(char type, std::string_view text) {
    body_.add_text(type, bus_text(text));
}

// NOLINTNEXTLINE(misc-no-recursion): the depth of records, and kMaxDepth in JSON values
void MessageWriter::content(std::string_view signature,
                            const Value& value,
                            const MemberType& type,
                            int depth) {
    const char kind = signature.front();
    switch (kind) {
        case 'a':
            return signature[1] == '{' ? dictionary(signature, value, type, depth)
                                       : list(signature, value, type, depth);
        case 'v':
            return variant({}, value, type, depth);
        case 'b':
            return body_.add_number(kind, value.as_bool().value_or(false) ? 1 : 0);
        case 'd':
            return body_.add_number(kind,
                                    std::bit_cast<std::uint64_t>(value.as_double().value_or(0)));
        case 'x':
            return body_.add_number(kind, static_cast<std::uint64_t>(value.as_int().value_or(0)));
        case 't':
        case 'u':
            return body_.add_number(kind, value.as_unsigned().value_or(0));
        case 'o': {
            // A list of GPUs becomes a list of their paths. "/" means no object, because D-Bus has
            // no empty path.
            const auto* id = value.is_object() ? value.at("id").as_string() : value.as_string();
            return text(kind, id && path_of_ ? path_of_(*id) : std::string{"/"});
        }
        default: {
            const auto* content = value.as_string();
            return text(kind, content ? std::string_view{*content} : std::string_view{});
        }
    }
}

// NOLINTNEXTLINE(misc-no-recursion): see content()
void MessageWriter::dictionary(std::string_view signature,
                               const Value& value,
                               const MemberType& type,
                               int depth) {
    const auto entry = signature.substr(2, signature.size() - 3);  // "sv" of "a{sv}"
    const auto item = entry.substr(1);
    const bool is_json = type.kind == MemberType::Kind::Json;
    body_.open('a', signature.substr(1));
    std::size_t count = 0;
    const auto* members = value.as_object();
    // Content beyond the limits is left out, because a shortened answer is better than none.
    if (members && !(is_json && depth >= kMaxDepth))
        for (const auto& member : *members) {
            const auto& member_type = type_of_member(type, member.key);
            if ((!is_json && is_left_out(member.value, member_type)) || ++count > kMaxItems)
                continue;
            body_.open('e', entry);
            if (entry.front() == 'o')
                text('o', path_of_(member.key));
            else if (type.kind == MemberType::Kind::Record)
                text('s', bus_key(member.key));
            else
                text('s', bus_text(member.key, Bytes{256}));
            if (item == "v")
                variant(type.kind == MemberType::Kind::Record ? member.key : std::string_view{},
                        member.value, member_type, depth + 1);
            else
                content(item, member.value, known(member_type), depth + 1);
            body_.close();
        }
    body_.close();
}

// NOLINTNEXTLINE(misc-no-recursion): see content()
void MessageWriter::list(std::string_view signature,
                         const Value& value,
                         const MemberType& type,
                         int depth) {
    const auto item = signature.substr(1);
    body_.open('a', item);
    const bool is_json = type.kind == MemberType::Kind::Json;
    const auto& item_type = is_json || type.item.empty() ? json_type() : type.item.front();
    std::size_t count = 0;
    if (const auto* items = value.as_array())
        for (const auto& one : *items)
            if (++count <= kMaxItems || !is_json)
                content(item, one, item_type, depth + 1);
    body_.close();
}

// NOLINTNEXTLINE(misc-no-recursion): see content()
void MessageWriter::variant(std::string_view key,
                            const Value& value,
                            const MemberType& type,
                            int depth) {
    const auto signature = signature_of(key, value, type, depth);
    body_.open('v', signature);
    content(signature, value, known(type), depth);
    body_.close();
}

std::string MessageWriter::signature_of(std::string_view key,
                                        const Value& value,
                                        const MemberType& given,
                                        int depth) const {
    using Kind = MemberType::Kind;
    const auto& type = known(given);
    switch (type.kind) {
        case Kind::Bool:
            return "b";
        case Kind::Integer:
            return {type.bus};
        case Kind::Float:
            return "d";
        case Kind::Text:
        case Kind::Words:
            return names_gpus(key) ? "o" : "s";
        case Kind::List:
            return "a" + signature_of(key, nothing(), type.item.front(), depth);
        case Kind::Map: {
            const auto item = known(type.item.front()).kind;
            return item == Kind::Text ? "a{ss}" : "a{sv}";
        }
        case Kind::Json:
            return json_signature(value, depth);
        default:
            return "a{sv}";
    }
}

/// The type of a member. In a record, the type depends on the key; in a map, all members have the
/// same type.
const MemberType& MessageWriter::type_of_member(const MemberType& type,
                                                std::string_view key) const {
    if (type.kind == MemberType::Kind::Map)
        return type.item.front();
    const auto* definition =
        type.kind == MemberType::Kind::Record ? types_.find(type.name) : nullptr;
    if (!definition)
        return json_type();
    const auto found = std::ranges::find(definition->members, key, &TypedMember::key);
    return found == definition->members.end() ? json_type() : found->type;
}

// Objects ----------------------------------------------------------------------------------------

/// Passes calls of sd-bus on to an object. No exception may enter sd-bus, which is written in C.
struct BusObjectAccess {
    static int call(sd_bus_message* call, void* object) {
        try {
            static_cast<BusObject*>(object)->called(call);
        } catch (const std::exception& problem) {
            (void)sd_bus_reply_method_errorf(call, error_name(ErrorCode::Internal).c_str(), "%s",
                                             problem.what());
        }
        return 1;
    }
    static int read(const char* name, sd_bus_message* reply, void* object, sd_bus_error* problem) {
        try {
            static_cast<BusObject*>(object)->read(name).append_to(reply);
            return 0;
        } catch (const sdbus::Error& error) {
            return sd_bus_error_set(problem, error.getName().c_str(), error.getMessage().c_str());
        } catch (const std::exception& error) {
            return sd_bus_error_set(problem, error_name(ErrorCode::Internal).c_str(), error.what());
        }
    }
};

namespace {

std::shared_ptr<sd_bus_message> owned(sd_bus_message* message) {
    return {message, sd_bus_message_unref};
}

/// The names of arguments as sd-bus expects them: each ends with a NUL.
std::string names_of(const std::vector<BusArgument>& arguments) {
    std::string names;
    for (const auto& argument : arguments)
        names.append(argument.name).append(1, '\0');
    return names;
}

std::string signature_of(const std::vector<BusArgument>& arguments) {
    std::string signature;
    for (const auto& argument : arguments)
        signature += argument.signature;
    return signature;
}

std::uint64_t flags_of(BusProperty::Change change) {
    switch (change) {
        case BusProperty::Change::Const:
            return SD_BUS_VTABLE_PROPERTY_CONST;
        case BusProperty::Change::Signaled:
            return SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
        case BusProperty::Change::Invalidated:
            return SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;
        default:
            return 0;
    }
}

/// A row of a vtable for sd-bus. sd-bus's macros for vtable rows can't be used, because they need
/// nested designated initializers, which C++ does not have.
sd_bus_vtable row_of(unsigned type, std::uint64_t flags) {
    sd_bus_vtable row;
    std::memset(&row, 0, sizeof row);  // {} would not initialize a part of the union
    row.type = static_cast<std::uint8_t>(type);
    row.flags = flags & 0xFF'FFFF'FFFF'FFFFU;
    return row;
}

/// The flag that lets every user call a method: the methods check permissions themselves.
constexpr std::uint64_t kForEverybody = SD_BUS_VTABLE_UNPRIVILEGED;

}  // namespace

BusReply::BusReply(sd_bus_message* call, std::function<void()> sent)
    : call_{owned(sd_bus_message_ref(call))}, sent_{std::move(sent)} {}

BusReply::~BusReply() {
    fail(Error{ErrorCode::Cancelled, "the operation was canceled"});
}

void BusReply::send(const MessageBody& body) {
    if (!call_)
        return;
    sd_bus_message* created = nullptr;
    const int code = sd_bus_message_new_method_return(call_.get(), &created);
    const auto reply = owned(created);
    if (code < 0 || !attempt([&] { body.append_to(created); }) ||
        sd_bus_send(nullptr, created, nullptr) < 0)
        return fail(Error{ErrorCode::Internal, "the answer could not be sent"});
    call_.reset();
    sent_();
}

void BusReply::fail(const Error& error) {
    const auto call = std::exchange(call_, nullptr);
    if (!call)
        return;
    const auto text = bus_text(error.text, kMaxErrorText);
    (void)sd_bus_reply_method_errorf(call.get(), error_name(error.code).c_str(), "%s",
                                     text.c_str());
    sent_();
}

const char* BusInterface::keep(std::string text) {
    return texts_.emplace_back(std::move(text)).c_str();
}

BusInterface::BusInterface(std::string name,
                           const std::vector<BusMethod>& methods,
                           const std::vector<BusProperty>& properties,
                           const std::vector<BusSignal>& signals)
    : name_{std::move(name)} {
    auto first = row_of(_SD_BUS_VTABLE_START, 0);
    first.x.start.element_size = sizeof(sd_bus_vtable);
    first.x.start.features = _SD_BUS_VTABLE_PARAM_NAMES;
    first.x.start.vtable_format_reference = &sd_bus_object_vtable_format;
    rows_.push_back(first);
    for (const auto& method : methods) {
        auto row = row_of(_SD_BUS_VTABLE_METHOD, kForEverybody);
        row.x.method.member = keep(method.name);
        row.x.method.signature = keep(signature_of(method.in));
        row.x.method.result = keep(signature_of(method.out));
        row.x.method.names = keep(names_of(method.in) + names_of(method.out));
        row.x.method.handler = [](sd_bus_message* call, void* object, sd_bus_error*) {
            return BusObjectAccess::call(call, object);
        };
        rows_.push_back(row);
    }
    for (const auto& property : properties) {
        auto row = row_of(_SD_BUS_VTABLE_PROPERTY, flags_of(property.change));
        row.x.property.member = keep(property.name);
        row.x.property.signature = keep(property.signature);
        row.x.property.get = [](sd_bus*, const char*, const char*, const char* read,
                                sd_bus_message* reply, void* object, sd_bus_error* problem) {
            return BusObjectAccess::read(read, reply, object, problem);
        };
        rows_.push_back(row);
    }
    for (const auto& signal : signals) {
        auto row = row_of(_SD_BUS_VTABLE_SIGNAL, 0);
        row.x.signal.member = keep(signal.name);
        row.x.signal.signature = keep(signature_of(signal.arguments));
        row.x.signal.names = keep(names_of(signal.arguments));
        rows_.push_back(row);
    }
    rows_.push_back(row_of(_SD_BUS_VTABLE_END, 0));
}

BusObject::BusObject(sd_bus* bus, std::string path, const BusInterface& interface)
    : bus_{bus}, path_{std::move(path)}, interface_{interface} {
    sd_bus_slot* slot = nullptr;
    const int code = sd_bus_add_object_vtable(bus, &slot, path_.c_str(), interface.name().c_str(),
                                              interface.rows(), this);
    if (code < 0)
        throw std::system_error{-code, std::generic_category(), path_};
    slot_ = {slot, sd_bus_slot_unref};
}

BusObject::~BusObject() = default;

// If the connection to the bus is lost, signals are lost too. Clients then read everything again.

void BusObject::announce() const {
    (void)sd_bus_emit_object_added(bus_, path_.c_str());
}

void BusObject::retract() const {
    (void)sd_bus_emit_object_removed(bus_, path_.c_str());
}

void BusObject::signal_changes(const std::vector<std::string>& properties) const {
    std::vector<char*> names;
    for (const auto& name : properties)
        names.push_back(const_cast<char*>(name.c_str()));  // sd-bus does not change the strings
    names.push_back(nullptr);
    if (!properties.empty())
        (void)sd_bus_emit_properties_changed_strv(bus_, path_.c_str(), interface_.name().c_str(),
                                                  names.data());
}

}  // namespace gpuprobe::bus
