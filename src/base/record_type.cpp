// SPDX-License-Identifier: Apache-2.0
#include "base/record_type.h"

#include <algorithm>
#include <utility>

namespace gpuprobe::inline base {

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
