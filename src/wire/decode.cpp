// SPDX-License-Identifier: Apache-2.0
#include "wire/decode.h"

#include "base/record.h"
#include "wire/names.h"
#include "wire/reason.h"
#include "wire/value.h"

namespace gpuprobe::client {
namespace {

template <class T>
T member(const bus::Dictionary& dictionary, const char* key) {
    const auto found = dictionary.find(key);
    return found == dictionary.end() ? T{} : found->second.get<T>();
}

Value text_or_null(const std::string& text) {
    return text.empty() ? Value{} : Value{text};
}

Value gpu_value(const std::string& path, const GpuIds& ids) {
    if (path.empty() || path == "/")
        return Value{};
    const auto found = ids.find(path);
    return Value{found == ids.end() ? path : found->second};
}

Value reason_values(const bus::Dictionary& entry, const char* key) {
    Value reasons{Value::Array{}};
    for (const auto& text : member<std::vector<std::string>>(entry, key))
        reasons.push_back(bus::reason_value(text));
    return reasons;
}

/// One entry is a candidate for each of its GPUs, or one without a GPU.
void add_candidates(Value& candidates, const bus::Dictionary& entry, const GpuIds& ids) {
    Value value;
    value["backend"] = member<std::string>(entry, "Backend");
    value["gpu"] = Value{};
    value["verdict"] = member<std::string>(entry, "Verdict");
    value["reasons"] = reason_values(entry, "Reasons");
    const auto gpus = member<std::vector<sdbus::ObjectPath>>(entry, "Gpus");
    if (gpus.empty())
        candidates.push_back(value);
    for (const auto& gpu : gpus) {
        value["gpu"] = gpu_value(gpu, ids);
        candidates.push_back(value);
    }
}

Value gpu_values(const bus::Dictionary& entry, const GpuIds& ids) {
    Value gpus{Value::Array{}};
    for (const auto& path : member<std::vector<sdbus::ObjectPath>>(entry, "Gpus"))
        gpus.push_back(gpu_value(path, ids));
    return gpus;
}

Value variant_value(const bus::Dictionary& entry, const GpuIds& ids) {
    Value value;
    value["variant"] = member<std::string>(entry, "Variant");
    value["family"] = member<std::string>(entry, "Family");
    value["tier"] = static_cast<long long>(member<std::int64_t>(entry, "Tier"));
    value["priority"] = static_cast<long long>(member<std::int64_t>(entry, "Priority"));
    value["verdict"] = member<std::string>(entry, "Verdict");
    value["gpus"] = gpu_values(entry, ids);
    value["reasons"] = reason_values(entry, "Reasons");
    value["warnings"] = reason_values(entry, "Warnings");
    value["note"] = text_or_null(member<std::string>(entry, "Note"));
    return value;
}

/// Our key and the bus's of what is a string there.
constexpr std::pair<const char*, const char*> kRecommendationTexts[] = {
    {"product", "Product"}, {"version", "Version"},
    {"status", "Status"},   {"platform", "Platform"},
    {"variant", "Variant"}, {"default", "Default"},
    {"hint", "Hint"},       {"manifest_sha256", "ManifestSha256"},
    {"rules", "Rules"},
};

}  // namespace

GpuIds gpu_ids(const ManagedObjects& objects) {
    GpuIds ids;
    for (const auto& [path, interfaces] : objects) {
        const auto gpu = interfaces.find("org.gpuprobe.GpuProbe1.Gpu");
        if (gpu != interfaces.end())
            ids.emplace(path, member<std::string>(gpu->second, "Id"));
    }
    return ids;
}

Value decision_value(const bus::Dictionary& answer, const GpuIds& ids) {
    Value decision;
    decision["backend"] = text_or_null(member<std::string>(answer, "Backend"));
    Value gpus{Value::Array{}};
    for (const auto& path : member<std::vector<sdbus::ObjectPath>>(answer, "Gpus"))
        gpus.push_back(gpu_value(path, ids));
    decision["gpus"] = gpus;
    Value environment{Value::Object{}};
    for (const auto& [name, value] :
         member<std::map<std::string, std::string>>(answer, "Environment"))
        environment[name] = value;
    decision["environment"] = environment;
    Value answers{Value::Object{}};
    for (const auto& [name, value] : member<std::map<std::string, std::string>>(answer, "Answers"))
        answers[name] = value;
    decision["answers"] = answers;
    Value messages{Value::Array{}};
    for (const auto& text : member<std::vector<std::string>>(answer, "Messages"))
        messages.push_back(Value{text});
    decision["messages"] = messages;
    decision["decision"] = member<std::string>(answer, "Decision");
    Value candidates{Value::Array{}};
    for (const auto& entry : member<std::vector<bus::Dictionary>>(answer, "Candidates"))
        add_candidates(candidates, entry, ids);
    decision["candidates"] = candidates;
    decision["generation"] = member<std::uint64_t>(answer, "Generation");
    return decision;
}

Value recommendation_value(const bus::Dictionary& answer, const GpuIds& ids) {
    Value value;
    for (const auto& [key, name] : kRecommendationTexts)
        value[key] = text_or_null(member<std::string>(answer, name));
    auto artifact = bus::value_from(member<bus::Dictionary>(answer, "Artifact"));
    if (artifact && !artifact->as_object()->empty())
        value["artifact"] = std::move(artifact).value();
    Value environment{Value::Object{}};
    for (const auto& [name, text] :
         member<std::map<std::string, std::string>>(answer, "Environment"))
        environment[name] = text;
    value["environment"] = environment;
    value["gpus"] = gpu_values(answer, ids);
    value["fallback"] = to_value(member<std::vector<std::string>>(answer, "Fallback"));
    value["warnings"] = reason_values(answer, "Warnings");
    Value candidates{Value::Array{}};
    for (const auto& entry : member<std::vector<bus::Dictionary>>(answer, "Candidates"))
        candidates.push_back(variant_value(entry, ids));
    value["candidates"] = candidates;
    value["generation"] = member<std::uint64_t>(answer, "Generation");
    return value;
}

Value override_value(const bus::Dictionary& entry) {
    Value value;
    auto rule = bus::value_from(member<bus::Dictionary>(entry, "Rule"));
    value["rule"] = rule ? std::move(rule).value() : Value{Value::Object{}};
    value["set_at_usec"] = static_cast<long long>(member<std::int64_t>(entry, "SetAtUsec"));
    value["set_by_uid"] = member<std::uint32_t>(entry, "SetByUid");
    return value;
}

Value memory_value(const bus::Dictionary& answer) {
    Value memory{Value::Object{}};
    for (const auto& [name, key] :
         {std::pair{"Physical", "physical"}, std::pair{"Allocatable", "allocatable"},
          std::pair{"Free", "free"}})
        if (answer.contains(name))
            memory[key] = member<std::uint64_t>(answer, name);
    if (answer.contains("FreeAtUsec"))
        memory["free_at_usec"] = static_cast<long long>(member<std::int64_t>(answer, "FreeAtUsec"));
    memory["source"] = member<std::string>(answer, "Source");
    Value evidence{Value::Array{}};
    for (const auto& reading : member<std::vector<bus::Dictionary>>(answer, "Evidence")) {
        Value value;
        value["source"] = member<std::string>(reading, "Source");
        value["what"] = member<std::string>(reading, "What");
        value["bytes"] = static_cast<long long>(member<std::int64_t>(reading, "Bytes"));
        evidence.push_back(std::move(value));
    }
    memory["evidence"] = std::move(evidence);
    return memory;
}

Value properties_value(const bus::Dictionary& properties) {
    Value object{Value::Object{}};
    for (const auto& [name, variant] : properties)
        if (auto value = bus::value_from(variant))
            object[name] = std::move(value).value();
    return object;
}

}  // namespace gpuprobe::client
