// SPDX-License-Identifier: Apache-2.0
// Runs when the project is built: prints the methods and types of org.gpuprobe and the table of
// facts as JSON. tools/interface-files makes the schema of the report, the types for other
// languages and the reference in docs/ from this JSON.

#include <cstdio>
#include <string>

#include "base/value.h"
#include "calls/interface.h"
#include "calls/methods.h"
#include "policy/decision.h"
#include "report/fact_table.h"
#include "report/video.h"
#include "wire/varlink.h"

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

/// A method of D-Bus. Arguments are separated by spaces, as in "application:s request:a{sv}".
Value value_of(const BusForm& form) {
    Value value;
    value["is_of_gpu"] = form.is_of_gpu;
    value["member"] = form.member;
    value["in"] = form.in;
    value["out"] = form.out;
    value["optional"] = form.optional;
    value["explained"] = form.explained;
    return value;
}

/// The names of polkit's actions.
Value value_of(const std::vector<Action>& actions) {
    Value::Array list;
    for (const auto action : actions)
        list.emplace_back(std::string{kInterface} + "." + std::string{name_of(action)});
    return Value{std::move(list)};
}

/// The part of a method's traits that callers notice.
Value value_of(const MethodTraits& traits) {
    Value value;
    value["keeping"] = name_of(traits.keeping);
    value["is_costly"] = traits.is_costly;
    value["waits"] = traits.waits;
    value["reports_progress"] = traits.reports_progress;
    value["subscribes"] = traits.subscribes;
    value["needs"] = value_of(traits.needs);
    value["may_need"] = value_of(traits.may_need);
    return value;
}

Value value_of(const MethodTypes& method) {
    Value::Array bus, errors;
    for (const auto& form : method.bus)
        bus.push_back(value_of(form));
    for (const auto code : method.errors)
        errors.emplace_back(bus::error_name(code));
    Value value;
    value["name"] = method.name;
    value["about"] = method.about;
    value["traits"] = value_of(method.traits);
    value["bus"] = Value{std::move(bus)};
    value["errors"] = Value{std::move(errors)};
    value["parameter_record"] = method.parameter_record;
    value["parameters"] = value_of(method.parameters);
    value["result_record"] = method.result_record;
    value["result"] = value_of(method.result);
    return value;
}

/// Returns the named members of DeviceFacts in the layout that value_of() uses.
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

/// The rows of the fact table that describe ApiView::device and SoftwareDevice::device.
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
        if (!row.record.empty())
            value["record"] = row.record;
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
    types.type_of(std::type_identity<VideoEntry>{});
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
