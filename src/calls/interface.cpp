// SPDX-License-Identifier: Apache-2.0
#include "calls/interface.h"

#include <algorithm>

namespace gpuprobe::inline calls {
namespace {

/// The text with one character replaced by another.
std::string with(std::string_view text, char from, char to) {
    std::string changed{text};
    std::ranges::replace(changed, from, to);
    return changed;
}

/// The Varlink type of a key. All keys are optional.
std::string_view type_of_key(RequestType type) {
    switch (type) {
        case RequestType::Names:
            return "?[]string";
        case RequestType::Flag:
            return "?bool";
        case RequestType::Word:
            return "?string";
        case RequestType::Pairs:
            return "?[string]string";
        case RequestType::Size:
        case RequestType::Mebibytes:
        case RequestType::Number:
            break;
    }
    return "?int";
}

}  // namespace

Value with_table_keys(const Value& request, std::span<const RequestKey> keys) {
    const auto* members = request.as_object();
    if (!members)
        return request;
    // Only known keys are respelled, so that an error names an unknown key as it was written.
    Value::Object spelled = *members;
    for (auto& member : spelled) {
        auto dashed = with(member.key, '_', '-');
        if (std::ranges::find(keys, dashed, &RequestKey::key) != keys.end())
            member.key = std::move(dashed);
    }
    return Value{std::move(spelled)};
}

// Type names and error texts go into the daemon's documentation, so the keys' meanings do too.
std::string InterfaceTypes::request(const char* name, std::span<const RequestKey> keys) {
    return named(name, [keys] {
        std::string text;
        for (const auto& key : keys) {
            text += (text.empty() ? "(\n" : ",\n");
            text.append("  # ").append(key.meaning).append("\n  ");
            text.append(with(key.key, '-', '_')).append(": ").append(type_of_key(key.type));
        }
        return text + "\n)";
    });
}

std::string InterfaceTypes::type_of(std::type_identity<SelectRequestValue>) {
    return "?" + request("SelectRequest", select_keys());
}

std::string InterfaceTypes::type_of(std::type_identity<RecommendRequestValue>) {
    return "?" + request("RecommendRequest", recommend_keys());
}

std::string InterfaceTypes::type_of(std::type_identity<PlanRequestValue>) {
    return "?" + request("PlanRequest", plan_keys());
}

bool InterfaceTypes::is_name(std::string_view word) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    return !word.empty() && std::ranges::all_of(word, is_letter);
}

std::string InterfaceTypes::definitions() const {
    std::string text;
    for (const auto& [name, body] : defined_)
        text += "type " + name + " " + body + "\n\n";
    return text;
}

}  // namespace gpuprobe::inline calls
