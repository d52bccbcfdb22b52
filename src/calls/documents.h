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
#include "policy/decision.h"
#include "policy/truth.h"
#include "report/report.h"

/// What is answered, whichever way the question came: the socket sends these documents, and
/// `gpuprobectl -j` prints them.
namespace gpuprobe::inline calls {

/// Of `list`.
struct GpuList {
    std::uint64_t generation = 0;
    std::vector<Gpu> gpus = {};
    std::vector<Accelerator> accelerators = {};
};
RECORD_MEMBERS(GpuList, generation, gpus, accelerators)

struct ConsumerList {
    std::vector<std::string> consumers = {};  ///< sorted
};
RECORD_MEMBERS(ConsumerList, consumers)

struct ProductList {
    std::vector<std::string> products = {};  ///< sorted
};
RECORD_MEMBERS(ProductList, products)

/// Of `probe`: the results of the stage and the APIs that were asked for. While drivers are still
/// being asked, only the progress is known.
struct ProbeAnswer {
    std::uint64_t generation = 0;
    std::vector<ProbeEntry> probes = {};
};
RECORD_MEMBERS(ProbeAnswer, generation, probes)
/// No API: those of all.
ProbeAnswer probe_answer_of(const Report& report,
                            const std::string& stage,
                            const std::vector<std::string>& apis);

/// Of `doctor`.
struct Diagnosis {
    int schema = 1;
    Severity severity = Severity::Ok;  ///< the gravest
    std::vector<Finding> findings = {};
};
RECORD_MEMBERS(Diagnosis, schema, severity, findings)
Diagnosis diagnosis_of(std::vector<Finding> findings);

struct PlannedModel {
    std::optional<std::string> name = {};
    std::string architecture = {};
    std::uint64_t layers = 0;
    std::optional<std::uint64_t> trained_context = {};
};
RECORD_MEMBERS(PlannedModel, name, architecture, layers, trained_context)

struct PlannedRun {
    std::uint64_t context = 0;
    std::uint64_t batch = 0;
    std::uint64_t streams = 0;
    std::string key_type = {};
    std::string value_type = {};
    bool swa_full = false;  ///< caches of sliding windows are kept whole
};
RECORD_MEMBERS(PlannedRun, context, batch, streams, key_type, value_type, swa_full)

/// Of `plan`: what was asked, and what fits. Without a model `model` and `run` are null.
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

/// One term held against one GPU, or against the machine where `gpu` is null.
struct TestedTerm {
    std::string term = {};
    std::optional<std::string> gpu = {};
    Truth truth = Truth::Unknown;
    std::optional<Reason> reason = {};  ///< why it does not hold, or is not known
};
RECORD_MEMBERS(TestedTerm, term, gpu, truth, reason)

struct TermAnswer {
    std::uint64_t generation = 0;
    std::vector<TestedTerm> terms = {};
};
RECORD_MEMBERS(TermAnswer, generation, terms)
/// Terms about the machine once, the others once for each GPU that `gpus` names: for none of them
/// where it is empty, for all where it is not given. Errors: InvalidRequest for more than
/// kMaxPredicates terms, and for what is no term; UnknownDevice.
Result<TermAnswer> tested(const std::vector<std::string>& terms,
                          const std::optional<std::vector<std::string>>& gpus,
                          const Report& report);

/// Why there is no answer. The name is the one on D-Bus, whichever way was taken.
struct Failure {
    std::string name = {};
    std::string message = {};
    std::vector<Candidate> candidates = {};
};
RECORD_MEMBERS(Failure, name, message, candidates)
Failure failure_of(const Error& error);

/// The same for a selection that satisfies nothing, with what else is known then.
struct NoMatch {
    Failure failure = {};
    std::string consumer = {};
    std::string decision = {};
    std::map<std::string, std::string> environment = {};
    std::map<std::string, std::string> answers = {};
    std::vector<std::string> messages = {};
};
template <class Visitor>
void describe(Visitor& visit, NoMatch& no_match) {
    describe(visit, no_match.failure);
    visit("consumer", no_match.consumer);
    visit("decision", no_match.decision);
    visit("environment", no_match.environment);
    visit("answers", no_match.answers);
    visit("messages", no_match.messages);
}
NoMatch no_match_of(const Decision& decision);

/// NoMatch: nothing satisfies what was asked for that consumer.
Error nothing_satisfies(const std::string& consumer);

/// A device by the names of ONNX Runtime's OrtHardwareDevice, for programs that hand out execution
/// providers. Sources: microsoft/onnxruntime@04b0758e, onnxruntime/core/session/abi_devices.h for
/// the fields, onnxruntime/core/platform/linux/device_discovery.cc for ids and metadata.
struct OrtHardwareDevice {
    std::optional<std::string> id = {};  ///< ours; null for the processor
    std::string type = {};               ///< OrtHardwareDeviceType without its lead: CPU, GPU, NPU
    std::optional<std::string> vendor = {};  ///< ours: "nvidia"
    /// PCI ids; null where there are none, or for the processor.
    std::optional<std::uint32_t> vendor_id = {};
    std::optional<std::uint32_t> device_id = {};
    /// card_idx, Discrete ("0", "1") and pci_bus_id, as far as they are known.
    std::map<std::string, std::string> metadata = {};
};
RECORD_MEMBERS(OrtHardwareDevice, id, type, vendor, vendor_id, device_id, metadata)

/// The processor, every GPU in the report's order, and every NPU.
std::vector<OrtHardwareDevice> hardware_devices_of(const Report& report);

}  // namespace gpuprobe::inline calls
