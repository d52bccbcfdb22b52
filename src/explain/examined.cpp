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

/// A reason of an API's, with its driver and what that wrote.
Value said(std::string_view api, const Value& driver, const Value& reasons, const Value& reason) {
    auto detail = reason.at("detail");
    detail["api"] = Value{api};
    if (word_of(detail.at("driver")).empty())
        detail["driver"] = word_of(driver).empty() ? Value{} : driver;
    for (const auto& other : *reasons.as_array())
        if (other.at("code") == Value{"worker-output"} && detail.at("output").is_null())
            detail["output"] = other.at("detail").at("lines");
    return Value{Value::Object{{"code", reason.at("code")}, {"detail", std::move(detail)}}};
}

/// The reasons of all APIs of a GPU, as its findings are, and those for which a small kernel failed
/// on it. One that only shows pictures, and one that no driver serves here, misses nothing.
Value said_of(const Gpu& gpu, const Value& value) {
    Value all{Value::Array{}};
    if (gpu.kind == GpuKind::DisplayOnly || has_reason_with(gpu.findings, ReasonTraits::Unserved))
        return all;
    const auto& apis = value.at("apis");
    const auto add = [&](std::string_view api, const Value& reasons) {
        for (const auto& reason : *reasons.as_array())
            all.push_back(said(api, apis.at(api).at("driver"), reasons, reason));
    };
    for (const auto& api : *apis.as_object())
        add(api.key, api.value.at("reasons"));
    for (const auto& [backend, view] : gpu.backends)
        if (view.verification)
            add(api_below(backend),
                value.at("backends").at(backend).at("verification").at("reasons"));
    return all;
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
