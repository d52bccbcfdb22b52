// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "explain/doctor.h"
#include "plan/plan.h"
#include "policy/application_set.h"
#include "policy/decision.h"
#include "policy/truth.h"
#include "report/report.h"

// JSON documents with the results of methods. The daemon sends these documents on its socket, and
// `gpuprobectl -j` prints them. A document is the same on every interface.

namespace gpuprobe::inline calls {

/// The document that `list` prints.
struct GpuList {
    std::uint64_t generation = 0;
    std::vector<Gpu> gpus = {};
    std::vector<Accelerator> accelerators = {};
};
RECORD_MEMBERS(GpuList, generation, gpus, accelerators)

/// The document that `apps` prints: the applications that Select and Recommend support.
struct ApplicationList {
    std::vector<ApplicationSummary> applications = {};  ///< the applications, sorted by name
};
RECORD_MEMBERS(ApplicationList, applications)

/// The document that `probe` prints: the results of one stage for the requested APIs. While probes
/// are running, only the progress is known (ProbeProgress in calls/interface.h).
struct ProbeAnswer {
    std::uint64_t generation = 0;
    std::vector<ProbeEntry> probes = {};
};
RECORD_MEMBERS(ProbeAnswer, generation, probes)
/// The document for one stage. An empty list of APIs means all APIs.
ProbeAnswer probe_answer_of(const Report& report,
                            const std::string& stage,
                            const std::vector<std::string>& apis);

/// The document that `doctor` prints.
struct Diagnosis {
    int schema = 1;
    Severity severity = Severity::Ok;  ///< the highest severity among the findings
    std::vector<Finding> findings = {};
};
RECORD_MEMBERS(Diagnosis, schema, severity, findings)
Diagnosis diagnosis_of(std::vector<Finding> findings);

/// The model in the request to `plan`.
struct PlannedModel {
    std::optional<std::string> name = {};
    std::string architecture = {};
    std::uint64_t layers = 0;
    std::optional<std::uint64_t> trained_context = {};
};
RECORD_MEMBERS(PlannedModel, name, architecture, layers, trained_context)

/// How a program will run the model: sizes in tokens, and the types of the key and value caches.
struct PlannedRun {
    std::uint64_t context = 0;
    std::uint64_t batch = 0;
    std::uint64_t streams = 0;
    std::string key_type = {};
    std::string value_type = {};
    bool swa_full = false;  ///< whether sliding-window layers keep the whole context in their cache
};
RECORD_MEMBERS(PlannedRun, context, batch, streams, key_type, value_type, swa_full)

/// The document that `plan` prints: the request, and whether and where the model fits. Without a
/// model, `model` and `run` are null.
struct PlanAnswer {
    bool is_estimate = true;
    std::uint64_t generation = 0;
    std::optional<PlannedModel> model = {};
    std::optional<Bytes> asked = {};
    Bytes margin = {};
    std::optional<PlannedRun> run = {};
    Plan plan = {};
};
template <class Visitor>
void describe(Visitor& visit, PlanAnswer& answer) {
    visit("is_estimate", answer.is_estimate);
    visit("generation", answer.generation);
    visit("model", answer.model);
    visit("asked", answer.asked);
    visit("margin", answer.margin);
    visit("run", answer.run);
    describe(visit, answer.plan);
}
PlanAnswer plan_answer(const PlanRequest& request, const Report& report, Plan plan);

/// The result of one term for one GPU, or for the machine if `gpu` is null.
struct TestedTerm {
    std::string term = {};
    std::optional<std::string> gpu = {};
    Truth truth = Truth::Unknown;
    std::optional<Reason> reason = {};  ///< the reason why the term is false or unknown
};
RECORD_MEMBERS(TestedTerm, term, gpu, truth, reason)

struct TermAnswer {
    std::uint64_t generation = 0;
    std::vector<TestedTerm> terms = {};
};
RECORD_MEMBERS(TermAnswer, generation, terms)
/// Tests each term. A term about the machine is tested once. Any other term is tested for each GPU
/// in `gpus`: for all GPUs if `gpus` is absent, and for no GPU if `gpus` is empty. Errors:
/// InvalidRequest for more than kMaxPredicates terms and for an invalid term; UnknownDevice for an
/// unknown GPU.
Result<TermAnswer> tested(const std::vector<std::string>& terms,
                          const std::optional<std::vector<std::string>>& gpus,
                          const Report& report);

/// Joins candidates with the same backend on GPUs of the same model, if their verdicts, reasons
/// with fixes and variants are the same (Candidate::also). Accepted candidates are joined only if
/// no other candidate is between them, so the order of accepted candidates stays the same.
void join_alike_gpus(std::vector<Candidate>& candidates, const Report& report);

/// A candidate for each GPU: the candidates before join_alike_gpus(), with the accepted candidates
/// in the same order. Reasons that name a GPU lose their messages, which would name the wrong GPU.
std::vector<Candidate> separate_candidates(const std::vector<Candidate>& joined);

/// An error instead of an answer. On every interface, `name` is the error's name on D-Bus.
struct Failure {
    std::string name = {};
    std::string message = {};
    std::vector<Candidate> candidates = {};
};
RECORD_MEMBERS(Failure, name, message, candidates)
Failure failure_of(const Error& error);

/// The document for a request that no candidate satisfies. The document contains the error and the
/// other members of the decision.
struct NoMatch {
    Failure failure = {};
    std::string application = {};
    std::string decision = {};
    std::map<std::string, std::string> environment = {};
    std::map<std::string, std::string> answers = {};
    std::vector<std::string> messages = {};
    std::vector<Reason> warnings = {};
};
template <class Visitor>
void describe(Visitor& visit, NoMatch& no_match) {
    describe(visit, no_match.failure);
    visit("application", no_match.application);
    visit("decision", no_match.decision);
    visit("environment", no_match.environment);
    visit("answers", no_match.answers);
    visit("messages", no_match.messages);
    visit("warnings", no_match.warnings);
}
/// Makes the document for a decision without a backend. The message names the closest candidate.
NoMatch no_match_of(const Decision& decision);

/// A device described with the names of ONNX Runtime's OrtHardwareDevice, for programs that assign
/// execution providers. Sources: microsoft/onnxruntime@04b0758e,
/// onnxruntime/core/session/abi_devices.h for the fields,
/// onnxruntime/core/platform/linux/device_discovery.cc for ids and metadata.
struct OrtHardwareDevice {
    std::optional<std::string> id = {};  ///< gpuprobe's id; null for the CPU
    std::string type = {};  ///< OrtHardwareDeviceType without its prefix: CPU, GPU or NPU
    std::optional<std::string> vendor = {};  ///< the vendor's name in gpuprobe's spelling: "nvidia"
    /// PCI ids; null for the CPU and for devices that are not on PCI.
    std::optional<std::uint32_t> vendor_id = {};
    std::optional<std::uint32_t> device_id = {};
    /// The members card_idx, Discrete ("0" or "1") and pci_bus_id, if their values are known.
    std::map<std::string, std::string> metadata = {};
};
RECORD_MEMBERS(OrtHardwareDevice, id, type, vendor, vendor_id, device_id, metadata)

/// The CPU, every GPU in the report's order, and every NPU.
std::vector<OrtHardwareDevice> hardware_devices_of(const Report& report);

}  // namespace gpuprobe::inline calls
