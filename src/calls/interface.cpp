// SPDX-License-Identifier: Apache-2.0
#include "calls/interface.h"

#include <algorithm>
#include <utility>

namespace gpuprobe::inline calls {
namespace {

/// Replaces each occurrence of one character with another.
std::string with(std::string_view text, char from, char to) {
    std::string changed{text};
    std::ranges::replace(changed, from, to);
    return changed;
}

/// The type of a key's value.
MemberType type_of_key(RequestType type) {
    using Kind = MemberType::Kind;
    switch (type) {
        case RequestType::Names:
            return TypeTable::wrapped(Kind::List, {.kind = Kind::Text});
        case RequestType::Flag:
            return {.kind = Kind::Bool};
        case RequestType::Word:
            return {.kind = Kind::Text};
        case RequestType::Pairs:
            return TypeTable::wrapped(Kind::Map, {.kind = Kind::Text});
        case RequestType::Size:
        case RequestType::Mebibytes:
        case RequestType::Number:
            break;
    }
    return {.kind = Kind::Integer, .minimum = 0};
}

MemberType request_type(TypeTable& types, const char* name, std::span<const RequestKey> keys) {
    using Kind = MemberType::Kind;
    auto request = types.defined(Kind::Record, name, [keys](TypeDefinition& definition) {
        for (const auto& key : keys)
            definition.members.push_back(
                {.key = with(key.key, '-', '_'),
                 .type = TypeTable::wrapped(Kind::Nullable, type_of_key(key.type)),
                 .about = std::string{key.meaning}});
    });
    return TypeTable::wrapped(Kind::Nullable, std::move(request));
}

/// Whether a word is a valid Varlink name.
bool is_varlink_name(std::string_view word) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    return !word.empty() && std::ranges::all_of(word, is_letter);
}

/// Whether Varlink can express a definition: an enumeration only if each word is a valid name.
bool is_expressible(const TypeDefinition& definition) {
    return std::ranges::all_of(definition.words, is_varlink_name);
}

std::string varlink_type(const TypeTable& types, const MemberType& type) {
    using Kind = MemberType::Kind;
    // systemd 257 does not accept lists of nullable items, so "?" is removed there.
    const auto item = [&types, &type] {
        auto text = varlink_type(types, type.item.front());
        return text.starts_with('?') ? text.substr(1) : text;
    };
    switch (type.kind) {
        case Kind::Bool:
            return "bool";
        case Kind::Integer:
            return "int";
        case Kind::Float:
            return "float";
        case Kind::Text:
            return "string";
        case Kind::Json:
            return "?object";
        case Kind::Words:
            return is_expressible(*types.find(type.name)) ? type.name : "string";
        case Kind::Record:
            return type.name;
        case Kind::Nullable:
            return "?" + item();
        case Kind::List:
            return "[]" + item();
        case Kind::Map:
            return "[string]" + item();
    }
    return {};
}

}  // namespace

Value with_table_keys(const Value& request, std::span<const RequestKey> keys) {
    const auto* members = request.as_object();
    if (!members)
        return request;
    // Only known keys are respelled, so that an error names an unknown key as it was given.
    Value::Object spelled = *members;
    for (auto& member : spelled) {
        auto dashed = with(member.key, '_', '-');
        if (std::ranges::find(keys, dashed, &RequestKey::key) != keys.end())
            member.key = std::move(dashed);
    }
    return Value{std::move(spelled)};
}

MemberType member_type(TypeTable& types, std::type_identity<SelectRequestValue>) {
    return request_type(types, "SelectRequest", select_keys());
}

MemberType member_type(TypeTable& types, std::type_identity<RecommendRequestValue>) {
    return request_type(types, "RecommendRequest", recommend_keys());
}

MemberType member_type(TypeTable& types, std::type_identity<PlanRequestValue>) {
    return request_type(types, "PlanRequest", plan_keys());
}

std::string varlink_members(const TypeTable& types, std::span<const TypedMember> members) {
    // If members have comments, write each member on a separate line.
    const bool has_comments =
        std::ranges::any_of(members, [](const TypedMember& one) { return !one.about.empty(); });
    std::string text;
    for (const auto& member : members) {
        text += text.empty() ? "" : has_comments ? ",\n" : ", ";
        if (has_comments)
            text += "  # " + member.about + "\n  ";
        text += member.key + ": " + varlink_type(types, member.type);
    }
    return has_comments ? "(\n" + text + "\n)" : "(" + text + ")";
}

std::string varlink_definitions(const TypeTable& types) {
    std::string text;
    for (const auto& definition : types.definitions()) {
        if (!is_expressible(definition))
            continue;
        std::string words;
        for (const auto word : definition.words)
            words.append(words.empty() ? "" : ", ").append(word);
        text += "type " + definition.name + " ";
        text += words.empty() ? varlink_members(types, definition.members) : "(" + words + ")";
        text += "\n\n";
    }
    return text;
}

}  // namespace gpuprobe::inline calls
