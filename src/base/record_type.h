// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/record.h"

/// Represents the types of records as data: the information that describe() and names_of() provide
/// about a type, without needing a value of that type. The interface description, the JSON Schema
/// of the report and the types for other languages are all generated from these types, so that each
/// record is described once.
namespace gpuprobe::inline base {

/// The type of a member.
struct MemberType {
    enum class Kind { Bool, Integer, Float, Text, Json, Words, Record, Nullable, List, Map };
    Kind kind = Kind::Json;
    /// For the kinds Words and Record, the name of the definition. For the kind Json, the name of
    /// the object that the value contains, if the name is known.
    std::string name = {};
    char bus = 'x';                         ///< the D-Bus type of an Integer: 'u', 't' or 'x'
    std::optional<long long> minimum = {};  ///< the smallest value of an Integer or Float
    bool excludes_minimum = false;          ///< whether values must be above `minimum`
    std::string pattern = {};               ///< the ECMAScript regular expression of a Text
    std::vector<MemberType> item = {};      ///< the element type of a Nullable, List or Map
    bool is_rare = false;  ///< whether D-Bus leaves the list or map out if it is empty
};
/// The kinds Words and Record have the same name, because the definition shows whether a type is an
/// enumeration or a record.
constexpr std::array<EnumName<MemberType::Kind>, 10> names_of(MemberType::Kind) {
    using Kind = MemberType::Kind;
    return {{{Kind::Bool, "bool"},
             {Kind::Integer, "integer"},
             {Kind::Float, "float"},
             {Kind::Text, "text"},
             {Kind::Json, "json"},
             {Kind::Words, "named"},
             {Kind::Record, "named"},
             {Kind::Nullable, "nullable"},
             {Kind::List, "list"},
             {Kind::Map, "map"}}};
}

struct TypedMember {
    std::string key = {};
    MemberType type = {};
    std::string about = {};        ///< the member's meaning; known only for keys of request tables
    bool is_optional = false;      ///< whether the member may be missing in an answer
    std::string_view record = {};  ///< name of the struct; empty for the keys of a request table
};

/// A named type: a record with members, or an enumeration with words.
struct TypeDefinition {
    std::string name = {};
    std::vector<TypedMember> members = {};
    std::vector<std::string_view> words = {};
};

/// A property of a member that its C++ type does not state, such as a restriction on its values. A
/// struct that has such members lists the properties in `constexpr auto
/// forms_of(std::type_identity<T>)`, an array of MemberForm. If the member is a list or a map, the
/// form applies to each item.
struct MemberForm {
    std::string_view key = {};
    std::string_view pattern = {};  ///< pattern of a string; empty if any string is valid
    bool is_positive = false;       ///< whether the number, if known, must be above zero
    std::string_view object = {};   ///< the type of the object in a JSON value, or "object"
    bool is_optional = false;       ///< whether the member may be missing
    bool is_rare = false;           ///< whether the list or map is left out on D-Bus if it is empty
};

/// The pattern of a non-empty string.
inline constexpr std::string_view kNotEmpty = ".";
/// The pattern of four hexadecimal digits: a PCI id.
inline constexpr std::string_view kFourHexDigits = "^[0-9a-f]{4}$";
/// The pattern of a device number such as "226:128".
inline constexpr std::string_view kDeviceNumber = "^[0-9]+:[0-9]+$";

/// The name of a type without its namespaces, such as "Candidate" for gpuprobe::Candidate.
template <class T>
constexpr std::string_view type_name() {
    // The string is similar to "constexpr … type_name() [with T = gpuprobe::policy::Candidate; …]".
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("T = ") + 4);
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}

/// Collects the definitions of all types to which a record refers, each once, in the order of first
/// use. For a type that isn't covered here, define a function `MemberType member_type(TypeTable&,
/// std::type_identity<T>)` in the type's namespace.
class TypeTable {
public:
    /// The members that describe() visits.
    template <class T>
    std::vector<TypedMember> members() {
        Members visitor{*this, type_name<T>()};
        T record{};
        describe(visitor, record);
        if constexpr (requires { forms_of(std::type_identity<T>{}); })
            for (const MemberForm& form : forms_of(std::type_identity<T>{}))
                apply(visitor.found, form);
        return std::move(visitor.found);
    }

    template <class T>
    MemberType type_of(std::type_identity<T> type) {
        using Kind = MemberType::Kind;
        if constexpr (requires { member_type(*this, type); })
            return member_type(*this, type);
        else if constexpr (std::same_as<T, bool>)
            return {.kind = Kind::Bool};
        else if constexpr (std::is_floating_point_v<T>)
            return {.kind = Kind::Float};
        else if constexpr (std::same_as<T, Value>)
            return {.kind = Kind::Json};
        else if constexpr (std::same_as<T, Duration> || std::same_as<T, WallTime>)
            return {.kind = Kind::Integer, .minimum = 0};
        else if constexpr (std::is_unsigned_v<T> || std::same_as<T, Bytes>)
            return {.kind = Kind::Integer,
                    .bus = sizeof(T) > sizeof(std::uint32_t) ? 't' : 'u',
                    .minimum = 0};
        else if constexpr (std::is_integral_v<T>)
            return {.kind = Kind::Integer};
        else if constexpr (NamedEnum<T>)
            return defined(Kind::Words, std::string{type_name<T>()},
                           [](TypeDefinition& definition) {
                               for (const auto& entry : names_of(T{}))
                                   definition.words.push_back(entry.name);
                           });
        else if constexpr (Described<T>)
            return defined(
                Kind::Record, std::string{type_name<T>()},
                [this](TypeDefinition& definition) { definition.members = members<T>(); });
        else if constexpr (requires { pattern_of(type); })
            return {.kind = Kind::Text, .pattern = std::string{pattern_of(type)}};
        else
            return {.kind = Kind::Text};
    }
    template <class T>
    MemberType type_of(std::type_identity<std::optional<T>>) {
        auto inner = type_of(std::type_identity<T>{});
        return can_be_null(inner) ? inner : wrapped(MemberType::Kind::Nullable, std::move(inner));
    }
    template <class T>
    MemberType type_of(std::type_identity<std::vector<T>>) {
        return wrapped(MemberType::Kind::List, type_of(std::type_identity<T>{}));
    }
    template <class T>
    MemberType type_of(std::type_identity<std::map<std::string, T>>) {
        return wrapped(MemberType::Kind::Map, type_of(std::type_identity<T>{}));
    }

    /// Defines a named type at its first use. `fill` adds the type's members or words. Returns a
    /// reference to the type.
    template <class Fill>
    MemberType defined(MemberType::Kind kind, const std::string& name, Fill fill) {
        if (!knows(name)) {
            const auto place = definitions_.size();
            definitions_.push_back({.name = name});
            TypeDefinition definition{.name = name};
            fill(definition);  // may define other types, so `definitions_` may have moved
            definitions_[place] = std::move(definition);
        }
        return {.kind = kind, .name = name};
    }

    static MemberType wrapped(MemberType::Kind kind, MemberType item);
    static bool can_be_null(const MemberType& type) {
        return type.kind == MemberType::Kind::Json || type.kind == MemberType::Kind::Nullable;
    }
    [[nodiscard]] std::span<const TypeDefinition> definitions() const { return definitions_; }
    /// The definition of the type `name`; nullptr if there is no such definition.
    [[nodiscard]] const TypeDefinition* find(std::string_view name) const;

private:
    struct Members {
        TypeTable& types;
        std::string_view record = {};
        std::vector<TypedMember> found = {};

        template <class T>
        void operator()(std::string_view key, const T&) {
            found.push_back({.key = std::string{key},
                             .type = types.type_of(std::type_identity<T>{}),
                             .record = record});
        }
    };

    [[nodiscard]] bool knows(std::string_view name) const { return find(name) != nullptr; }
    /// Applies the form to the member that has the form's key.
    static void apply(std::span<TypedMember> members, const MemberForm& form);

    std::vector<TypeDefinition> definitions_ = {};
};

}  // namespace gpuprobe::inline base
