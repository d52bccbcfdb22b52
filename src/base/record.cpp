// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"

#include <algorithm>
#include <utility>

#include "base/record_type.h"

namespace gpuprobe::inline base {

ReadProblem read_value(const Value& value, std::string& out) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    out = *text;
    return {};
}

ReadProblem read_value(const Value& value, bool& out) {
    const auto flag = value.as_bool();
    if (!flag)
        return wrong_type(value, "boolean");
    out = *flag;
    return {};
}

// Integers are also accepted, because JSON does not distinguish 1 from 1.0.
ReadProblem read_value(const Value& value, double& out) {
    const auto number = value.as_double();
    if (!number)
        return wrong_type(value, "number");
    out = *number;
    return {};
}

// Sizes are in bytes; durations and instants are in microseconds.
ReadProblem read_value(const Value& value, Bytes& out) {
    return read_value(value, out.count);
}

ReadProblem read_value(const Value& value, Duration& out) {
    Duration::rep count = 0;
    auto problem = read_value(value, count);
    out = Duration{count};
    return problem;
}

ReadProblem read_value(const Value& value, WallTime& out) {
    Duration since_epoch{};
    auto problem = read_value(value, since_epoch);
    out = WallTime{since_epoch};
    return problem;
}

// known_ contains every key that describe() has visited.
std::string RecordReader::unknown_key() const {
    const auto* members = value_.as_object();
    if (!members)
        return {};
    for (const auto& member : *members)
        if (std::ranges::find(known_, member.key) == known_.end())
            return member.key;
    return {};
}

ReadProblem ReadProblem::in(std::string_view key) && {
    // An index is appended without a dot, as in "variants[3]"; a key is appended with a dot, as in
    // "platforms.variants".
    const bool inner_is_member = !path.empty() && path.front() != '[';
    path = std::string{key} + (inner_is_member ? "." : "") + path;
    return std::move(*this);
}

MemberType TypeTable::wrapped(MemberType::Kind kind, MemberType item) {
    MemberType type{.kind = kind};
    type.item.push_back(std::move(item));
    return type;
}

const TypeDefinition* TypeTable::find(std::string_view name) const {
    const auto found = std::ranges::find(definitions_, name, &TypeDefinition::name);
    return found == definitions_.end() ? nullptr : &*found;
}

void TypeTable::apply(std::span<TypedMember> members, const MemberForm& form) {
    const auto member = std::ranges::find(members, form.key, &TypedMember::key);
    if (member == members.end())
        return;
    member->is_optional = form.is_optional;
    member->type.is_rare = form.is_rare;
    auto* type = &member->type;
    while (!type->item.empty())
        type = &type->item.front();
    type->pattern = form.pattern;
    if (form.is_positive) {
        type->minimum = 0;
        type->excludes_minimum = true;
    }
    type->name = form.object.empty() ? type->name : std::string{form.object};
}

}  // namespace gpuprobe::inline base
