// SPDX-License-Identifier: Apache-2.0
#include "explain/examined.h"

#include <algorithm>

#include "knowledge/chips.h"
#include "policy/path_term.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/confinement.h"

namespace gpuprobe::inline explain {
namespace {

/// What an API said, with its driver and what that wrote.
Value detail_of(const Value::Member& api, const Value& reason) {
    auto detail = reason.at("detail");
    detail["api"] = Value{api.key};
    const auto& driver = api.value.at("driver");
    if (word_of(detail.at("driver")).empty())
        detail["driver"] = word_of(driver).empty() ? Value{} : driver;
    for (const auto& other : *api.value.at("reasons").as_array())
        if (other.at("code") == Value{"worker-output"} && detail.at("output").is_null())
            detail["output"] = other.at("detail").at("lines");
    return detail;
}

/// The reasons of all APIs of a GPU, as its findings are. One that only shows pictures, and one
/// that no driver serves here, misses nothing.
Value said_of(const Gpu& gpu, const Value& value) {
    Value said{Value::Array{}};
    if (gpu.kind == GpuKind::DisplayOnly || has_reason_with(gpu.findings, ReasonTraits::Unserved))
        return said;
    for (const auto& api : *value.at("apis").as_object())
        for (const auto& reason : *api.value.at("reasons").as_array())
            said.push_back(Value{
                Value::Object{{"code", reason.at("code")}, {"detail", detail_of(api, reason)}}});
    return said;
}

/// What chips.json calls the GPU's chip, whatever serves it.
Value chip_of(const Gpu& gpu) {
    if (!gpu.pci || !gpu.pci->vendor_id || !gpu.pci->device_id)
        return {};
    const auto* chip =
        knowledge::Chips::current().find(*gpu.pci->vendor_id, *gpu.pci->device_id, "");
    return chip && chip->chip ? Value{*chip->chip} : Value{};
}

}  // namespace

Value examined(const Report& report, const Surroundings& surroundings, const Place& place) {
    Value roots{Value::Object{}};
    roots["report"] = to_value(report);
    auto& gpus = roots["report"]["gpus"];
    for (std::size_t i = 0; i < report.gpus.size(); ++i) {
        auto& gpu = (*gpus.as_array())[i];
        gpu["said"] = said_of(report.gpus[i], gpu);
        gpu["chip"] = chip_of(report.gpus[i]);
    }
    roots["host"] = roots.at("report").at("host");
    roots["here"] = to_value(surroundings);
    for (const auto word : confinement::kWanted)
        if (report.confinement &&
            std::ranges::none_of(*report.confinement, [word](const std::string& holds) {
                return holds.starts_with(word);
            }))
            roots["here"]["unconfined"].push_back(Value{word});
    roots["place"] = place.facts();
    for (const auto& api : kApis)
        if (!api.vendor.empty() && computes(api))
            roots["apis"][api.word]["vendor"] = Value{api.vendor};
    roots["variables"] = to_value(Causes::current().variables());
    return roots;
}

}  // namespace gpuprobe::inline explain
