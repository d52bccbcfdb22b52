// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record.h"
#include "plan/plan_request.h"
#include "policy/request_table.h"

/// Text of a Varlink interface description, generated from the records and request tables that the
/// methods read and write. Source of the grammar: varlink.org, "Interface Definition".
namespace gpuprobe::inline calls {

/// A request as a parameter of a method. Its keys come from the table; because Varlink names have
/// no dashes, each key is also accepted with underscores.
template <std::span<const RequestKey> (*Keys)()>
struct KeyedRequest {
    Value value = Value{Value::Object{}};
};
using SelectRequestValue = KeyedRequest<select_keys>;
using RecommendRequestValue = KeyedRequest<recommend_keys>;
using PlanRequestValue = KeyedRequest<plan_keys>;

/// The request with its keys spelled as in the table.
Value with_table_keys(const Value& request, std::span<const RequestKey> keys);

template <std::span<const RequestKey> (*Keys)()>
ReadProblem read_value(const Value& value, KeyedRequest<Keys>& out) {
    if (!value.is_object() && !value.is_null())
        return wrong_type(value, "object");
    out.value = with_table_keys(value, Keys());
    return {};
}
}  // namespace gpuprobe::inline calls

template <std::span<const gpuprobe::RequestKey> (*Keys)()>
struct gpuprobe::MayBeMissing<gpuprobe::KeyedRequest<Keys>> : std::true_type {};

namespace gpuprobe::inline calls {

/// The name of a type without its namespaces: "Candidate" for gpuprobe::Candidate.
template <class T>
constexpr std::string_view type_name() {
    // "constexpr … type_name() [with T = gpuprobe::policy::Candidate; …]"
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("T = ") + 4);
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}

/// Writes Varlink types and collects the definitions of the named ones.
class InterfaceTypes {
public:
    /// The members that describe() visits: "(backend: string, gpu: ?string)".
    template <class T>
    std::string members() {
        Members visitor{*this};
        T record{};
        describe(visitor, record);
        return "(" + visitor.text + ")";
    }
    /// The Varlink type of T: "string", "[]Candidate".
    template <class T>
    std::string type_of(std::type_identity<T>) {
        if constexpr (std::same_as<T, bool>)
            return "bool";
        else if constexpr (std::is_floating_point_v<T>)
            return "float";
        else if constexpr (std::is_integral_v<T> || std::same_as<T, Bytes> ||
                           std::same_as<T, Duration> || std::same_as<T, WallTime>)
            return "int";
        else if constexpr (std::same_as<T, Value>)
            return "?object";
        else if constexpr (NamedEnum<T>)
            return words_of(names_of(T{}), type_name<T>());
        else if constexpr (Described<T>)
            return named(std::string{type_name<T>()}, [this] { return members<T>(); });
        else
            return "string";
    }
    template <class T>
    std::string type_of(std::type_identity<std::optional<T>>) {
        auto text = type_of(std::type_identity<T>{});
        return text.starts_with('?') ? text : "?" + text;
    }
    template <class T>
    std::string type_of(std::type_identity<std::vector<T>>) {
        return "[]" + item(type_of(std::type_identity<T>{}));
    }
    template <class T>
    std::string type_of(std::type_identity<std::map<std::string, T>>) {
        return "[string]" + item(type_of(std::type_identity<T>{}));
    }
    std::string type_of(std::type_identity<SelectRequestValue>);
    std::string type_of(std::type_identity<RecommendRequestValue>);
    std::string type_of(std::type_identity<PlanRequestValue>);

    /// All definitions, "type Candidate (…)", each once, in the order of first use.
    [[nodiscard]] std::string definitions() const;

private:
    struct Members {
        InterfaceTypes& types;
        std::string text = {};

        template <class T>
        void operator()(std::string_view key, const T&) {
            text.append(text.empty() ? "" : ", ").append(key).append(": ");
            text += types.type_of(std::type_identity<T>{});
        }
    };

    /// The name of an enumeration, or "string" if one of its words is not a valid name in Varlink.
    template <class Names>
    std::string words_of(const Names& names, std::string_view type) {
        std::string text;
        for (const auto& entry : names) {
            if (!is_name(entry.name))
                return "string";
            text.append(text.empty() ? "(" : ", ").append(entry.name);
        }
        return named(std::string{type}, [&text] { return text + ")"; });
    }
    /// Whether a word is a valid Varlink name.
    static bool is_name(std::string_view word);
    /// The type of an item. systemd 257 does not accept lists of nullable items, so "?" is removed.
    static std::string item(std::string type) {
        return type.starts_with('?') ? type.substr(1) : type;
    }
    /// Defines the type of a request, with each key's meaning as a comment.
    std::string request(const char* name, std::span<const RequestKey> keys);

    /// Defines a named type at its first use and returns its name.
    template <class Body>
    std::string named(const std::string& name, Body body) {
        for (const auto& [known, text] : defined_)
            if (known == name)
                return name;
        const auto place = defined_.size();
        defined_.emplace_back(name, "");
        auto text = body();  // may define other types, so `defined_` may have moved
        defined_[place].second = std::move(text);
        return name;
    }

    std::vector<std::pair<std::string, std::string>> defined_ = {};
};

}  // namespace gpuprobe::inline calls
