// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "explain/place.h"
#include "knowledge/chips.h"
#include "policy/causes.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/outcome.h"

namespace gpuprobe::inline explain {
namespace {

/// A reason of an API, with the API, its driver and the output of its worker added to the detail.
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

/// All reasons about a GPU: from its APIs and from failed verifications. Display-only GPUs and GPUs
/// without a driver have nothing to report.
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

/// The chip's name in chips.json, under any driver.
Value chip_of(const Gpu& gpu) {
    if (!gpu.pci || !gpu.pci->vendor_id || !gpu.pci->device_id)
        return {};
    const auto* chip =
        knowledge::Chips::current().find(*gpu.pci->vendor_id, *gpu.pci->device_id, "");
    return chip && chip->chip ? Value{*chip->chip} : Value{};
}

/// Adds an APU's limit of host memory (GTT): its share in percent, whether it is larger than the
/// memory that the firmware reserved, and the kernel parameter that raises it to three quarters of
/// the host's memory, in whole GiB. The module is amdttm instead of ttm if amdgpu is from AMD's
/// packages.
void add_shared_memory(const Gpu& gpu, const Host& host, Value& value) {
    constexpr std::uint64_t kPagesOfGib = gib(1).count / kib(4).count;
    const auto& readings = gpu.memory.evidence;
    const auto gtt = std::ranges::find(readings, "gtt-total", &MemoryReading::what);
    if (gtt == readings.end() || !host.memory.total)
        return;
    const auto total = host.memory.total->count;
    const auto most = total / 4 * 3 / gib(1).count;
    const auto loaded = host.setup ? host.setup->loaded : std::nullopt;
    const std::string module =
        loaded && std::ranges::count(*loaded, "amdttm") > 0 ? "amdttm" : "ttm";
    // Numbers that the sentences of causes show, computed here because terms can't calculate.
    value["gtt"]["total"] = to_value(gtt->bytes);
    value["gtt"]["of_gib"] = Value{total / gib(1).count};
    value["gtt"]["percent"] = Value{gtt->bytes.count / (total / 100 + 1)};
    value["gtt"]["larger"] = gtt->bytes > gpu.memory.physical.value_or(Bytes{});
    value["gtt"]["most"] = to_value(gib(most));
    value["gtt"]["word"] = Value{module + ".pages_limit=" + std::to_string(most * kPagesOfGib)};
}

/// Removes slowdowns that were read too long ago to describe the present.
void forget_the_past(const Power& power, WallTime now, Value& value) {
    constexpr Duration kMoment = std::chrono::minutes{5};
    if (power.slowdowns_at && now - *power.slowdowns_at > kMoment)
        value["power"]["slowdowns"] = Value{};
}

/// The words for the taint bits of the kernel that are relevant for a driver's state. Source:
/// torvalds/linux@v6.12, Documentation/admin-guide/tainted-kernels.rst.
Value taints_of(std::uint64_t bits) {
    constexpr auto kTaints =
        std::to_array<std::pair<unsigned, std::string_view>>({{4, "machine-check"}, {7, "died"}});
    Value words{Value::Array{}};
    for (const auto& [bit, word] : kTaints)
        if ((bits >> bit & 1U) != 0)
            words.push_back(Value{word});
    return words;
}

}  // namespace

Value examined(const Report& report, const Surroundings& surroundings, const Place& place) {
    Value roots{Value::Object{}};
    roots["report"] = to_value(report);
    const auto now = surroundings.at ? surroundings.at : report.created;
    auto& gpus = roots["report"]["gpus"];
    // Add derived members to each GPU.
    for (std::size_t i = 0; i < report.gpus.size(); ++i) {
        auto& gpu = (*gpus.as_array())[i];
        gpu["said"] = said_of(report.gpus[i], gpu);
        gpu["chip"] = chip_of(report.gpus[i]);
        add_shared_memory(report.gpus[i], report.host, gpu);
        if (now)
            forget_the_past(report.gpus[i].power, *now, gpu);
    }
    roots["host"] = roots.at("report").at("host");
    if (report.host.setup && report.host.setup->tainted)
        roots["host"]["setup"]["taints"] = taints_of(*report.host.setup->tainted);
    roots["here"] = to_value(surroundings);
    // Protections that this process should have but lacks.
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
