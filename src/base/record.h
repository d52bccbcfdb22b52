// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "base/value.h"

/// Converts plain structs to a Value and back. Both conversions use the same description of the
/// struct.
///
/// A struct is described by one line in its namespace, which names each member once:
///
///     RECORD_MEMBERS(Node, path, accessible)
///
/// Write describe() by hand if a key differs from its member's name or the line would be too long:
///
///     template <class Visitor>
///     void describe(Visitor& visit, Node& node) {
///         visit("path", node.path);
///         visit("accessible", node.accessible);
///     }
///
/// An enumeration is described by `constexpr auto names_of(Kind)`, which returns an array of
/// EnumName<Kind>. A type that is written as a string (such as a PCI address) has
/// `std::string text_of(const T&)` and
/// `std::optional<T> parse_text(std::string_view, std::type_identity<T>)`.
///
/// Writing includes every member; an empty optional becomes null. Reading fails if a member is
/// missing, except if the member is an optional or a container, which then keeps its default value.
namespace gpuprobe::inline base {

template <class E>
struct EnumName {
    E value;
    std::string_view name;
};

/// The name of an enumerator, from the table that names_of() returns; "unknown" if the table does
/// not contain the enumerator.
template <class E>
constexpr std::string_view name_of(E value) {
    for (const auto& entry : names_of(E{}))
        if (entry.value == value)
            return entry.name;
    return "unknown";
}

template <class E>
constexpr std::optional<E> enum_from(std::string_view name) {
    for (const auto& entry : names_of(E{}))
        if (entry.name == name)
            return entry.value;
    return std::nullopt;
}

class RecordWriter;
class RecordReader;

template <class T>
concept Described = requires(RecordWriter& visit, T& object) {
    describe(visit, object);
};
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
    names_of(value);
};
template <class T>
concept Textual = requires(const T& object, std::string_view text) {
    { text_of(object) } -> std::convertible_to<std::string>;
    { parse_text(text, std::type_identity<T>{}) } -> std::same_as<std::optional<T>>;
};

// Writing ---------------------------------------------------------------------------------------

inline Value to_value(const Value& value) {
    return value;
}
inline Value to_value(const std::string& text) {
    return Value{text};
}
inline Value to_value(Bytes bytes) {
    return Value{bytes.count};
}
inline Value to_value(Duration duration) {
    return Value{duration.count()};
}
inline Value to_value(WallTime instant) {
    return Value{instant.time_since_epoch().count()};
}
template <class T>
requires std::is_arithmetic_v<T> Value to_value(T number) {
    if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>)
        return Value{number};
    else if constexpr (std::is_signed_v<T>)
        return Value{static_cast<long long>(number)};
    else
        return Value{static_cast<unsigned long long>(number)};
}
template <NamedEnum E>
Value to_value(E value) {
    return Value{name_of(value)};
}
template <Textual T>
Value to_value(const T& object) {
    return Value{std::string{text_of(object)}};
}
template <class T>
Value to_value(const std::optional<T>& maybe);
template <class T>
Value to_value(const std::vector<T>& items);
template <class T>
Value to_value(const std::map<std::string, T>& items);
template <Described T>
Value to_value(const T& object);

class RecordWriter {
public:
    template <class T>
    void operator()(std::string_view key, const T& member) {
        members_.push_back(Value::Member{.key = std::string{key}, .value = to_value(member)});
    }
    Value take() { return Value{std::move(members_)}; }

private:
    Value::Object members_ = {};
};

template <class T>
Value to_value(const std::optional<T>& maybe) {
    return maybe ? to_value(*maybe) : Value{};
}
template <class T>
Value to_value(const std::vector<T>& items) {
    Value::Array list;
    list.reserve(items.size());
    for (const auto& item : items)
        list.push_back(to_value(item));
    return Value{std::move(list)};
}
template <class T>
Value to_value(const std::map<std::string, T>& items) {
    Value::Object members;
    for (const auto& [key, item] : items)
        members.push_back(Value::Member{.key = key, .value = to_value(item)});
    return Value{std::move(members)};
}
template <Described T>
Value to_value(const T& object) {
    RecordWriter writer;
    describe(writer, const_cast<T&>(object));  // the writer uses every member by const reference
    return writer.take();
}

// Reading ---------------------------------------------------------------------------------------

/// A problem in a document, with the path of the value that has the problem. If `reason` is empty,
/// there is no problem.
struct ReadProblem {
    std::string reason = {};
    std::string path = {};
    /// The valid words if the problem is an unknown word, so that error messages can suggest one of
    /// them.
    std::vector<std::string> known = {};
    /// The unknown word; empty if the word is the value at `path`.
    std::string word = {};
    /// Whether the word is a problem only because the reader was set to refuse unknown words.
    bool may_be_newer = false;

    ReadProblem() = default;
    ReadProblem(std::string what) : reason{std::move(what)} {}
    ReadProblem(const char* what) : reason{what} {}
    [[nodiscard]] bool empty() const { return reason.empty(); }
    /// The same problem, with a path that starts at the container of the member `key` (or of the
    /// item "[3]").
    [[nodiscard]] ReadProblem in(std::string_view key) &&;
    [[nodiscard]] std::string text() const { return path.empty() ? reason : path + ": " + reason; }
};

/// The ReadProblem for a word that isn't in `known`.
inline ReadProblem unknown_word(std::string reason, std::vector<std::string> known) {
    ReadProblem problem{std::move(reason)};
    problem.known = std::move(known);
    return problem;
}

/// The ReadProblem for a member that isn't in `known`.
inline ReadProblem unknown_member(std::string_view key, std::vector<std::string> known) {
    auto problem = unknown_word("unknown member", std::move(known));
    problem.word = key;
    return problem;
}

inline std::string wrong_type(const Value& value, std::string_view wanted) {
    return std::string{"expected "} + std::string{wanted} + ", found " +
           std::string{value.type_name()};
}

inline ReadProblem read_value(const Value& value, Value& out) {
    out = value;
    return {};
}
ReadProblem read_value(const Value& value, std::string& out);
ReadProblem read_value(const Value& value, bool& out);
ReadProblem read_value(const Value& value, double& out);
ReadProblem read_value(const Value& value, Bytes& out);
ReadProblem read_value(const Value& value, Duration& out);
ReadProblem read_value(const Value& value, WallTime& out);
template <std::integral T>
requires(!std::same_as<T, bool>) ReadProblem read_value(const Value& value, T& out) {
    if constexpr (std::is_signed_v<T>) {
        const auto number = value.as_int();
        if (!number)
            return wrong_type(value, "integer");
        if (!std::in_range<T>(*number))
            return "number out of range";
        out = static_cast<T>(*number);
    } else {
        const auto number = value.as_unsigned();
        if (!number)
            return wrong_type(value, "non-negative integer");
        if (!std::in_range<T>(*number))
            return "number out of range";
        out = static_cast<T>(*number);
    }
    return {};
}
template <NamedEnum E>
ReadProblem read_value(const Value& value, E& out) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    const auto known = enum_from<E>(*text);
    if (!known) {
        auto problem = ReadProblem{"unknown word"};
        for (const auto& entry : names_of(E{}))
            problem.known.emplace_back(entry.name);
        return problem;
    }
    out = *known;
    return {};
}
template <Textual T>
ReadProblem read_value(const Value& value, T& out) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    auto parsed = parse_text(std::string_view{*text}, std::type_identity<T>{});
    if (!parsed)
        return "malformed";
    out = std::move(*parsed);
    return {};
}
template <class T>
ReadProblem read_value(const Value& value, std::optional<T>& out);
template <class T>
ReadProblem read_value(const Value& value, std::vector<T>& out);
template <class T>
ReadProblem read_value(const Value& value, std::map<std::string, T>& out);
template <Described T>
ReadProblem read_value(const Value& value, T& out);

template <class T>
struct MayBeMissing : std::false_type {};
template <>
struct MayBeMissing<Value> : std::true_type {};
template <class T>
struct MayBeMissing<std::optional<T>> : std::true_type {};
template <class T>
struct MayBeMissing<std::vector<T>> : std::true_type {};
template <class K, class T>
struct MayBeMissing<std::map<K, T>> : std::true_type {};

class RecordReader {
public:
    explicit RecordReader(const Value& value) : value_{value} {}

    template <class T>
    void operator()(std::string_view key, T& member) {
        if (!problem_.empty())
            return;
        known_.push_back(key);
        const auto* found = value_.find(key);
        if (!found) {
            if (!MayBeMissing<T>::value)
                problem_ = ReadProblem{"missing"}.in(key);
            return;
        }
        auto problem = read_value(*found, member);
        if (!problem.empty())
            problem_ = std::move(problem).in(key);
    }
    [[nodiscard]] const ReadProblem& problem() const { return problem_; }
    /// The first key of the document that no member of the record has; empty if all keys are known.
    [[nodiscard]] std::string unknown_key() const;
    /// The keys that the record has.
    [[nodiscard]] std::vector<std::string> known_keys() const {
        return {known_.begin(), known_.end()};
    }

private:
    const Value& value_;
    ReadProblem problem_ = {};
    std::vector<std::string_view> known_ = {};
};

template <class T>
ReadProblem read_value(const Value& value, std::optional<T>& out) {
    out.reset();
    if (value.is_null())
        return {};
    T item{};
    auto problem = read_value(value, item);
    if (problem.empty())
        out = std::move(item);
    return problem;
}
template <class T>
ReadProblem read_value(const Value& value, std::vector<T>& out) {
    const auto* items = value.as_array();
    if (!items)
        return wrong_type(value, "array");
    out.clear();
    out.reserve(items->size());
    for (const auto& item : *items) {
        T element{};
        auto problem = read_value(item, element);
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(out.size()) + "]");
        out.push_back(std::move(element));
    }
    return {};
}
template <class T>
ReadProblem read_value(const Value& value, std::map<std::string, T>& out) {
    const auto* members = value.as_object();
    if (!members)
        return wrong_type(value, "object");
    out.clear();
    for (const auto& member : *members) {
        T element{};
        auto problem = read_value(member.value, element);
        if (!problem.empty())
            return std::move(problem).in(member.key);
        out.emplace(member.key, std::move(element));
    }
    return {};
}
template <Described T>
ReadProblem read_value(const Value& value, T& out) {
    if (!value.is_object())
        return wrong_type(value, "object");
    RecordReader reader{value};
    describe(reader, out);
    return reader.problem();
}

/// Reads a record from a value. Errors: Malformed, with the path of the member at fault.
template <Described T>
Result<T> record_from(const Value& value) {
    T object{};
    auto problem = read_value(value, object);
    if (!problem.empty())
        return Error{ErrorCode::Malformed, problem.text()};
    return object;
}

/// Reads a record, and also fails if the top level has a member that the record does not have.
template <Described T>
ReadProblem read_strictly(const Value& value, T& out) {
    if (!value.is_object())
        return wrong_type(value, "object");
    RecordReader reader{value};
    describe(reader, out);
    if (!reader.problem().empty())
        return reader.problem();
    if (const auto unknown = reader.unknown_key(); !unknown.empty())
        return unknown_member(unknown, reader.known_keys()).in(unknown);
    return {};
}

/// Reads a record and refuses unknown members. Errors: the same as for record_from().
template <Described T>
Result<T> strict_record_from(const Value& value) {
    T object{};
    if (const auto problem = read_strictly(value, object); !problem.empty())
        return Error{ErrorCode::Malformed, problem.text()};
    return object;
}

}  // namespace gpuprobe::inline base

/// Defines describe() of a struct: its members in the order in which they are written. The key of a
/// member is the member's name, unless the member is written as ("key", member).
#define RECORD_MEMBERS(Type, ...)                 \
    template <class Visitor>                      \
    void describe(Visitor& visit, Type& record) { \
        RECORD_EXPAND(RECORD_VISIT(__VA_ARGS__))  \
    }
// With each further scan of the list, the preprocessor visits one more member, up to 64 members.
#define RECORD_VISIT(member, ...) \
    RECORD_ITEM(member)           \
    __VA_OPT__(RECORD_AGAIN RECORD_NOTHING(__VA_ARGS__))
#define RECORD_AGAIN() RECORD_VISIT
#define RECORD_NOTHING ()
#define RECORD_ITEM(item) RECORD_JOIN(RECORD_ITEM_, RECORD_IS_PAIR(item))(item)
#define RECORD_ITEM_0(member) visit(#member, record.member);
#define RECORD_ITEM_1(pair) RECORD_PAIR pair
#define RECORD_PAIR(key, member) visit(key, record.member);
#define RECORD_IS_PAIR(item) RECORD_SECOND(RECORD_MARK item, 0)
#define RECORD_MARK(...) ~, 1
#define RECORD_SECOND(...) RECORD_SECOND_(__VA_ARGS__, 0)
#define RECORD_SECOND_(first, second, ...) second
#define RECORD_JOIN(left, right) RECORD_JOIN_(left, right)
#define RECORD_JOIN_(left, right) left##right
#define RECORD_EXPAND(...) RECORD_MORE(RECORD_MORE(RECORD_MORE(RECORD_MORE(__VA_ARGS__))))
#define RECORD_MORE(...) RECORD_RESCAN(RECORD_RESCAN(RECORD_RESCAN(RECORD_RESCAN(__VA_ARGS__))))
#define RECORD_RESCAN(...) RECORD_ONCE(RECORD_ONCE(RECORD_ONCE(RECORD_ONCE(__VA_ARGS__))))
#define RECORD_ONCE(...) __VA_ARGS__

/// Declares the conversions of a large record as plain functions, which RECORD_DEFINE_CONVERSIONS
/// defines in one .cpp file. Without these declarations, every file that converts the record would
/// compile the conversions again.
#define RECORD_DECLARE_CONVERSIONS(Type) \
    using base::read_value;              \
    using base::to_value;                \
    Value to_value(const Type& record);  \
    ReadProblem read_value(const Value& value, Type& out);
#define RECORD_DEFINE_CONVERSIONS(Type)                     \
    Value to_value(const Type& record) {                    \
        return base::to_value<Type>(record);                \
    }                                                       \
    ReadProblem read_value(const Value& value, Type& out) { \
        return base::read_value<Type>(value, out);          \
    }
