// SPDX-License-Identifier: Apache-2.0
#include "explain/checks.h"

#include <algorithm>

namespace gpuprobe {
namespace {

Value of_api(const std::string& api, const ApiView& view, const Reason& reason) {
    auto evidence = reason.detail;
    evidence["api"] = api;
    if (evidence.at("driver").is_null() || evidence.at("driver") == Value{""})
        evidence["driver"] = view.driver && !view.driver->empty() ? Value{*view.driver} : Value{};
    const auto output = std::ranges::find_if(
        view.reasons, [](const Reason& other) { return other.is("worker-output"); });
    if (output != view.reasons.end())
        evidence["output"] = output->detail.at("lines");
    return evidence;
}

}  // namespace

void add_once(Evidence& found, Value evidence) {
    if (std::ranges::find(found, evidence) == found.end())
        found.push_back(std::move(evidence));
}

Evidence findings(const Gpu& gpu, ReasonCode code) {
    Evidence found;
    for (const auto& finding : gpu.findings)
        if (finding.is(code))
            add_once(found, finding.detail);
    return found;
}

Evidence said(const Gpu& gpu, ReasonCode code) {
    Evidence found;
    const bool is_served =
        gpu.kind != GpuKind::DisplayOnly && !has_reason_with(gpu.findings, ReasonTraits::Unserved);
    for (const auto& [api, view] : gpu.apis)
        for (const auto& reason : view.reasons)
            if (is_served && reason.is(code))
                add_once(found, of_api(api, view, reason));
    return found;
}

Evidence said_by(const Gpu& gpu, std::string_view api, ReasonCode code) {
    auto found = said(gpu, code);
    std::erase_if(found, [api](const Value& evidence) { return evidence.at("api") != Value{api}; });
    return found;
}

Evidence judged(const Gpu& gpu, ReasonCode code) {
    Evidence found;
    for (const auto& [name, backend] : gpu.backends)
        for (const auto& reason : backend.reasons)
            if (reason.is(code))
                add_once(found, reason.detail);
    return found;
}

Evidence when(bool holds, Value::Object evidence) {
    return holds ? Evidence{Value{std::move(evidence)}} : Evidence{};
}

Evidence in_case(Evidence found, std::string_view name) {
    for (auto& evidence : found)
        evidence["case"] = Value{name};
    return found;
}

bool answers(const Gpu& gpu, std::string_view api) {
    const auto view = gpu.apis.find(std::string{api});
    return view != gpu.apis.end() && view->second.outcome == Outcome::Answered &&
           !view->second.device.is_null();
}

}  // namespace gpuprobe
