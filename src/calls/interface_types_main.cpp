// SPDX-License-Identifier: Apache-2.0
// Runs when the project is built: prints the types of org.gpuprobe and the table of facts as JSON.
// tools/interface-files makes the schema of the report and the types for other languages from it.

#include <cstdio>
#include <string>

#include "base/value.h"
#include "calls/interface.h"
#include "calls/methods.h"
#include "policy/decision.h"
#include "report/fact_table.h"

namespace gpuprobe {
namespace {

Value value_of(const MemberType& type) {
    Value value;
    value["kind"] = name_of(type.kind);
    if (!type.name.empty())
        value["name"] = type.name;
    if (type.minimum)
        value[type.excludes_minimum ? "above" : "minimum"] = *type.minimum;
    if (!type.pattern.empty())
        value["pattern"] = type.pattern;
    if (!type.item.empty())
        value["item"] = value_of(type.item.front());
    return value;
}

Value value_of(std::span<const TypedMember> members) {
    Value::Array list;
    for (const auto& member : members) {
        Value value;
        value["name"] = member.key;
        value["type"] = value_of(member.type);
        value["about"] = member.about;
        if (!member.record.empty())
            value["record"] = member.record;
        if (member.is_optional)
            value["optional"] = true;
        list.push_back(std::move(value));
    }
    return Value{std::move(list)};
}

Value value_of(const TypeDefinition& definition) {
    Value value;
    value["name"] = definition.name;
    value["members"] = value_of(definition.members);
    Value::Array words;
    for (const auto word : definition.words)
        words.emplace_back(word);
    value["words"] = Value{std::move(words)};
    return value;
}

Value value_of(const MethodTypes& method) {
    Value value;
    value["name"] = method.name;
    value["about"] = method.about;
    value["parameters"] = value_of(method.parameters);
    value["result"] = value_of(method.result);
    return value;
}

/// The named members of DeviceFacts, in the form of value_of().
struct CommonFacts {
    DeviceFacts facts = {};
};
template <class Visitor>
void describe(Visitor& visit, CommonFacts& common) {
    visit("index", common.facts.index);
    visit("name", common.facts.name);
    visit("vendor_id", common.facts.vendor_id);
    visit("device_id", common.facts.device_id);
    visit("pci", common.facts.pci);
    visit("uuid", common.facts.uuid);
    visit("drm", common.facts.drm);
    visit("type", common.facts.type);
    visit("memory", common.facts.memory);
}

/// The rows of the fact table for ApiView::device and SoftwareDevice::device.
Value device_facts() {
    Value::Array list;
    for (const auto& row : kFactTable) {
        if (row.of != FactOf::EveryDevice && row.of != FactOf::Device && row.of != FactOf::View)
            continue;
        Value value;
        value["name"] = row.key;
        value["is_common"] = row.of == FactOf::EveryDevice;
        value["apis"] = row.apis;
        value["type"] = name_of(row.type);
        value["about"] = row.meaning;
        list.push_back(std::move(value));
    }
    return Value{std::move(list)};
}

Value all_types() {
    TypeTable types;
    Value::Array methods, definitions;
    for (const auto& method : methods_of(kInterface, types))
        methods.push_back(value_of(method));
    types.type_of(std::type_identity<Report>{});
    types.type_of(std::type_identity<Artifact>{});
    const auto common = types.members<CommonFacts>();
    const auto no_match = types.members<NoMatch>();
    for (const auto& definition : types.definitions())
        definitions.push_back(value_of(definition));
    Value value;
    value["methods"] = Value{std::move(methods)};
    value["definitions"] = Value{std::move(definitions)};
    value["no_match"] = value_of(no_match);
    value["common_facts"] = value_of(common);
    value["device_facts"] = device_facts();
    return value;
}

}  // namespace
}  // namespace gpuprobe

int main() {
    const auto text = gpuprobe::json_pretty(gpuprobe::all_types());
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                   std::fflush(stdout) == 0
               ? 0
               : 1;
}
