// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/version.h"
#include "calls/hardware_devices.h"
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
template <class Visitor>
void describe(Visitor& visit, SelectParameters& in) {
    visit("consumer", in.consumer);
    visit("request", in.request);
}

struct RecommendParameters {
    std::optional<std::string> product = {};
    std::optional<std::string> manifest = {};
    RecommendRequestValue request = {};
};
template <class Visitor>
void describe(Visitor& visit, RecommendParameters& in) {
    visit("product", in.product);
    visit("manifest", in.manifest);
    visit("request", in.request);
}

struct PlanParameters {
    std::optional<Bytes> need = {};
    std::optional<Bytes> margin = {};
    std::optional<std::vector<std::string>> gpus = {};
    PlanRequestValue request = {};
    std::optional<std::string> model = {};
};
template <class Visitor>
void describe(Visitor& visit, PlanParameters& in) {
    visit("need", in.need);
    visit("margin", in.margin);
    visit("gpus", in.gpus);
    visit("request", in.request);
    visit("model", in.model);
}

struct DiagnoseParameters {
    std::optional<std::map<std::string, std::string>> environment = {};
};
template <class Visitor>
void describe(Visitor& visit, DiagnoseParameters& in) {
    visit("environment", in.environment);
}

struct QueryParameters {
    std::vector<std::string> terms = {};
    std::optional<std::vector<std::string>> gpus = {};
};
template <class Visitor>
void describe(Visitor& visit, QueryParameters& in) {
    visit("terms", in.terms);
    visit("gpus", in.gpus);
}

struct GpuParameters {
    std::string gpu = {};
};
template <class Visitor>
void describe(Visitor& visit, GpuParameters& in) {
    visit("gpu", in.gpu);
}

struct ProbeParameters {
    std::optional<std::vector<std::string>> gpus = {};
    std::optional<std::vector<std::string>> apis = {};
    std::optional<std::string> stage = {};
    std::optional<bool> allow_wake = {};
    std::optional<bool> force = {};
};
template <class Visitor>
void describe(Visitor& visit, ProbeParameters& in) {
    visit("gpus", in.gpus);
    visit("apis", in.apis);
    visit("stage", in.stage);
    visit("allow_wake", in.allow_wake);
    visit("force", in.force);
}

struct OutcomeParameters {
    std::string consumer = {};
    std::string outcome = {};
    std::optional<std::string> backend = {};
    std::optional<std::string> variant = {};
    std::optional<std::string> family = {};
    std::optional<std::string> detail = {};
    std::optional<std::string> gpu = {};
};
template <class Visitor>
void describe(Visitor& visit, OutcomeParameters& in) {
    visit("consumer", in.consumer);
    visit("outcome", in.outcome);
    visit("backend", in.backend);
    visit("variant", in.variant);
    visit("family", in.family);
    visit("detail", in.detail);
    visit("gpu", in.gpu);
}

struct OverrideParameters {
    std::string consumer = {};
    Value rule = {};
};
template <class Visitor>
void describe(Visitor& visit, OverrideParameters& in) {
    visit("consumer", in.consumer);
    visit("rule", in.rule);
}

struct ConsumerParameters {
    std::string consumer = {};
};
template <class Visitor>
void describe(Visitor& visit, ConsumerParameters& in) {
    visit("consumer", in.consumer);
}

struct QuarantineParameters {
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
    std::optional<bool> all = {};
};
template <class Visitor>
void describe(Visitor& visit, QuarantineParameters& in) {
    visit("api", in.api);
    visit("driver", in.driver);
    visit("all", in.all);
}

struct InterfaceParameters {
    std::string interface = {};
};
template <class Visitor>
void describe(Visitor& visit, InterfaceParameters& in) {
    visit("interface", in.interface);
}

// Answers that are no document of gpuprobectl's ---------------------------------------------------

struct ServiceInfo {
    std::string vendor = "gpuprobe";
    std::string product = "gpuprobe";
    std::string version = std::string{kVersion};
    std::string url = "https://github.com/gpuprobe/gpuprobe";
    std::vector<std::string> interfaces = {};
};
template <class Visitor>
void describe(Visitor& visit, ServiceInfo& info) {
    visit("vendor", info.vendor);
    visit("product", info.product);
    visit("version", info.version);
    visit("url", info.url);
    visit("interfaces", info.interfaces);
}

struct InterfaceDescription {
    std::string description = {};
};
template <class Visitor>
void describe(Visitor& visit, InterfaceDescription& text) {
    visit("description", text.description);
}

struct HardwareDeviceList {
    std::uint64_t generation = 0;
    std::vector<OrtHardwareDevice> devices = {};
};
template <class Visitor>
void describe(Visitor& visit, HardwareDeviceList& list) {
    visit("generation", list.generation);
    visit("devices", list.devices);
}

/// Either the progress or, in the last answer, the rest.
struct ProbeProgress {
    std::optional<double> progress = {};
    std::optional<std::uint64_t> generation = {};
    std::optional<std::vector<ProbeEntry>> probes = {};
};
template <class Visitor>
void describe(Visitor& visit, ProbeProgress& answer) {
    visit("progress", answer.progress);
    visit("generation", answer.generation);
    visit("probes", answer.probes);
}

struct OverrideSet {
    std::string consumer = {};
    bool set = true;
};
template <class Visitor>
void describe(Visitor& visit, OverrideSet& answer) {
    visit("consumer", answer.consumer);
    visit("set", answer.set);
}

struct OverrideCleared {
    std::string consumer = {};
    bool cleared = false;
};
template <class Visitor>
void describe(Visitor& visit, OverrideCleared& answer) {
    visit("consumer", answer.consumer);
    visit("cleared", answer.cleared);
}

struct OverrideList {
    std::map<std::string, store::Override> overrides = {};
};
template <class Visitor>
void describe(Visitor& visit, OverrideList& answer) {
    visit("overrides", answer.overrides);
}

struct QuarantineList {
    std::vector<QuarantinedProbe> quarantine = {};
};
template <class Visitor>
void describe(Visitor& visit, QuarantineList& answer) {
    visit("quarantine", answer.quarantine);
}

struct QuarantineCleared {
    std::uint32_t cleared = 0;
};
template <class Visitor>
void describe(Visitor& visit, QuarantineCleared& answer) {
    visit("cleared", answer.cleared);
}

struct ReportChange {
    std::uint64_t generation = 0;
    ReportState state = ReportState::Starting;
};
template <class Visitor>
void describe(Visitor& visit, ReportChange& change) {
    visit("generation", change.generation);
    visit("state", change.state);
}

}  // namespace gpuprobe::inline calls
