// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/version.h"
#include "calls/documents.h"
#include "calls/interface_text.h"
#include "report/quarantined.h"
#include "report/report.h"
#include "store/feedback.h"

/// What the methods of org.gpuprobe take, and what some of them answer: the interface description
/// is made of these.
namespace gpuprobe::inline calls {

struct Nothing {};
template <class Visitor>
void describe(Visitor&, Nothing&) {}

struct SelectParameters {
    std::optional<std::string> consumer = {};
    SelectRequestValue request = {};
};
RECORD_MEMBERS(SelectParameters, consumer, request)

struct RecommendParameters {
    std::optional<std::string> product = {};
    std::optional<std::string> manifest = {};
    RecommendRequestValue request = {};
};
RECORD_MEMBERS(RecommendParameters, product, manifest, request)

struct PlanParameters {
    std::optional<Bytes> need = {};
    std::optional<Bytes> margin = {};
    std::optional<std::vector<std::string>> gpus = {};
    PlanRequestValue request = {};
    std::optional<std::string> model = {};
};
RECORD_MEMBERS(PlanParameters, need, margin, gpus, request, model)

struct DiagnoseParameters {
    std::optional<std::map<std::string, std::string>> environment = {};
};
RECORD_MEMBERS(DiagnoseParameters, environment)

struct QueryParameters {
    std::vector<std::string> terms = {};
    std::optional<std::vector<std::string>> gpus = {};
};
RECORD_MEMBERS(QueryParameters, terms, gpus)

struct GpuParameters {
    std::string gpu = {};
};
RECORD_MEMBERS(GpuParameters, gpu)

struct ProbeParameters {
    std::optional<std::vector<std::string>> gpus = {};
    std::optional<std::vector<std::string>> apis = {};
    std::optional<std::string> stage = {};
    std::optional<bool> allow_wake = {};
    std::optional<bool> force = {};
};
RECORD_MEMBERS(ProbeParameters, gpus, apis, stage, allow_wake, force)

struct OutcomeParameters {
    std::string consumer = {};
    std::string outcome = {};
    std::optional<std::string> backend = {};
    std::optional<std::string> variant = {};
    std::optional<std::string> family = {};
    std::optional<std::string> detail = {};
    std::optional<std::string> gpu = {};
};
RECORD_MEMBERS(OutcomeParameters, consumer, outcome, backend, variant, family, detail, gpu)

struct OverrideParameters {
    std::string consumer = {};
    Value rule = {};
};
RECORD_MEMBERS(OverrideParameters, consumer, rule)

struct ConsumerParameters {
    std::string consumer = {};
};
RECORD_MEMBERS(ConsumerParameters, consumer)

struct QuarantineParameters {
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
    std::optional<bool> all = {};
};
RECORD_MEMBERS(QuarantineParameters, api, driver, all)

struct InterfaceParameters {
    std::string interface = {};
};
RECORD_MEMBERS(InterfaceParameters, interface)

// Answers that are no document of gpuprobectl's ---------------------------------------------------

struct ServiceInfo {
    std::string vendor = "gpuprobe";
    std::string product = "gpuprobe";
    std::string version = std::string{kVersion};
    std::string url = "https://github.com/gpuprobe/gpuprobe";
    std::vector<std::string> interfaces = {};
};
RECORD_MEMBERS(ServiceInfo, vendor, product, version, url, interfaces)

struct InterfaceDescription {
    std::string description = {};
};
RECORD_MEMBERS(InterfaceDescription, description)

struct HardwareDeviceList {
    std::uint64_t generation = 0;
    std::vector<OrtHardwareDevice> devices = {};
};
RECORD_MEMBERS(HardwareDeviceList, generation, devices)

/// Either the progress or, in the last answer, the rest.
struct ProbeProgress {
    std::optional<double> progress = {};
    std::optional<std::uint64_t> generation = {};
    std::optional<std::vector<ProbeEntry>> probes = {};
};
RECORD_MEMBERS(ProbeProgress, progress, generation, probes)

struct OverrideSet {
    std::string consumer = {};
    bool set = true;
};
RECORD_MEMBERS(OverrideSet, consumer, set)

struct OverrideCleared {
    std::string consumer = {};
    bool cleared = false;
};
RECORD_MEMBERS(OverrideCleared, consumer, cleared)

struct OverrideList {
    std::map<std::string, store::Override> overrides = {};
};
RECORD_MEMBERS(OverrideList, overrides)

struct QuarantineList {
    std::vector<QuarantinedProbe> quarantine = {};
};
RECORD_MEMBERS(QuarantineList, quarantine)

struct QuarantineCleared {
    std::uint32_t cleared = 0;
};
RECORD_MEMBERS(QuarantineCleared, cleared)

struct ReportChange {
    std::uint64_t generation = 0;
    ReportState state = ReportState::Starting;
};
RECORD_MEMBERS(ReportChange, generation, state)

}  // namespace gpuprobe::inline calls
