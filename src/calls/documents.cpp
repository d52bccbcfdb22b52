// SPDX-License-Identifier: Apache-2.0
#include "calls/documents.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "plan/model.h"
#include "plan/need.h"
#include "plan/plan.h"
#include "policy/closest_miss.h"
#include "policy/fact.h"
#include "policy/term.h"
#include "report/compute_view.h"
#include "wire/varlink.h"

namespace gpuprobe::inline calls {
namespace {

constexpr std::size_t kMaxMessage = 4096;
constexpr std::size_t kMaxName = 64;

/// Tests one term for `gpu`, or for the machine if `gpu` is null. The result has a reason unless
/// the term is true.
TestedTerm tested_on(const Predicate& term, const Gpu* gpu, const Report& report) {
    auto found = test_predicate(term, Facts{{.report = report, .gpu = gpu}});
    TestedTerm answer{.term = term.text, .truth = found.truth};
    if (gpu)
        answer.gpu = gpu->id;
    if (found.truth != Truth::True)
        answer.reason = std::move(found.why);
    return answer;
}

/// Returns the GPUs with these ids, without duplicates: all GPUs if `ids` is absent, and no GPU if
/// `ids` is empty. The pointers refer to GPUs in `view`. Errors: UnknownDevice.
Result<std::vector<const Gpu*>> named_gpus(const std::optional<std::vector<std::string>>& ids,
                                           const ComputeView& view) {
    std::vector<const Gpu*> gpus;
    if (!ids)
        for (const auto& gpu : view.whole().gpus)
            gpus.push_back(&gpu);
    for (const auto& id : ids.value_or(std::vector<std::string>{})) {
        const auto* gpu = TRY(known_gpu(view, id));
        if (std::ranges::find(gpus, gpu) == gpus.end())
            gpus.push_back(gpu);
    }
    return gpus;
}

/// A PCI id such as "10de" as a number.
std::optional<std::uint32_t> number_of(const std::optional<std::string>& id) {
    return id ? parse_hex<std::uint32_t>(*id) : std::nullopt;
}

/// The members that GPUs and NPUs have in common.
OrtHardwareDevice device_of(const std::string& id,
                            const char* type,
                            const std::optional<std::string>& vendor,
                            const std::optional<PciInfo>& pci) {
    OrtHardwareDevice device{.id = id, .type = type, .vendor = vendor};
    if (!pci)
        return device;
    device.vendor_id = number_of(pci->vendor_id);
    device.device_id = number_of(pci->device_id);
    if (pci->address)
        device.metadata["pci_bus_id"] = text_of(*pci->address);
    return device;
}

/// Describes a GPU with ONNX Runtime's metadata, which contains "Discrete" only if the kind of the
/// GPU is certain, and "card_idx" from the name of the DRM primary node.
OrtHardwareDevice gpu_device(const Gpu& gpu) {
    constexpr std::string_view kCard = "/dev/dri/card";
    auto device = device_of(gpu.id, "GPU", gpu.vendor, gpu.pci);
    if (gpu.kind == GpuKind::Discrete || gpu.kind == GpuKind::Integrated)
        device.metadata["Discrete"] = gpu.kind == GpuKind::Discrete ? "1" : "0";
    for (const auto& node : gpu.nodes)
        if (node.path.starts_with(kCard))
            device.metadata["card_idx"] = node.path.substr(kCard.size());
    return device;
}

}  // namespace

ProbeAnswer probe_answer_of(const Report& report,
                            const std::string& stage,
                            const std::vector<std::string>& apis) {
    ProbeAnswer answer{.generation = report.generation};
    for (const auto& probe : report.probes)
        if (probe.stage == stage &&
            (apis.empty() || std::ranges::find(apis, probe.api) != apis.end()))
            answer.probes.push_back(probe);
    return answer;
}

Diagnosis diagnosis_of(std::vector<Finding> findings) {
    const auto severity = gravest(findings);
    return {.severity = severity, .findings = std::move(findings)};
}

PlanAnswer plan_answer(const PlanRequest& request, const Report& report, Plan plan) {
    PlanAnswer answer{.generation = report.generation,
                      .asked = request.need,
                      .margin = request.margin,
                      .plan = std::move(plan)};
    // A plan for a number of bytes contains no model.
    if (!request.model)
        return answer;
    answer.model = {.name = request.model->name,
                    .architecture = request.model->architecture,
                    .layers = request.model->layers.size(),
                    .trained_context = request.model->trained_context};
    answer.run = {.context = request.run.context,
                  .batch = request.run.batch,
                  .streams = request.run.streams,
                  .key_type = std::string{request.run.keys.name},
                  .value_type = std::string{request.run.values.name},
                  .swa_full = request.run.keeps_whole_windows};
    return answer;
}

Result<TermAnswer> tested(const std::vector<std::string>& terms,
                          const std::optional<std::vector<std::string>>& gpus,
                          const Report& report) {
    if (terms.size() > kMaxPredicates)
        return Error{ErrorCode::InvalidRequest, "more than 32 terms"};
    const ComputeView view{report};
    const auto subjects = TRY(named_gpus(gpus, view));
    TermAnswer answer{.generation = report.generation};
    // A term about the machine has one result. Any other term has one result for each GPU.
    for (const auto& text : terms) {
        const auto parsed = requested_predicate(text);
        if (!parsed)
            return Error{ErrorCode::InvalidRequest,
                         scrubbed(text, kMaxName) + ": " + parsed.error().text};
        const auto& term = *parsed;
        if (is_about_host(term))
            answer.terms.push_back(tested_on(term, nullptr, report));
        else
            for (const auto* gpu : subjects)
                answer.terms.push_back(tested_on(term, gpu, report));
    }
    return answer;
}

namespace {

/// Whether it does not matter which of the two GPUs a program uses.
bool is_same_model(const ComputeView& view, const std::string& id, const std::string& other_id) {
    const auto* gpu = find_gpu(view.report(), id);
    const auto* other = find_gpu(view.report(), other_id);
    if (!gpu || !other)
        return false;
    const auto chip = [](const Gpu& one) {
        const auto pci = one.pci.value_or(PciInfo{});
        return std::tuple{one.vendor, one.name, one.kind, pci.vendor_id, pci.device_id};
    };
    const auto memory = offered_memory(gpu->memory);
    // All GPUs of a virtual machine may have the same name and ids, whatever is behind them.
    const bool is_told_apart =
        gpu->kind != GpuKind::Virtual || memory || gpu->architecture != Architecture{};
    return is_told_apart && chip(*gpu) == chip(*other) &&
           gpu->architecture == other->architecture && memory == offered_memory(other->memory);
}

/// The value in which `id` and `other` are exchanged. Lists of strings with one of them are sorted.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the detail of a reason
Value exchanged(Value value, const std::string& id, const std::string& other) {
    if (const auto* text = value.as_string())
        return *text == id ? Value{other} : *text == other ? Value{id} : value;
    if (auto* items = value.as_array()) {
        const bool has_either = std::ranges::any_of(*items, [&](const Value& item) {
            const auto* text = item.as_string();
            return text && (*text == id || *text == other);
        });
        for (auto& item : *items)
            item = exchanged(std::move(item), id, other);
        if (has_either && std::ranges::all_of(*items, &Value::is_string))
            std::ranges::sort(*items, {}, [](const Value& item) { return *item.as_string(); });
    } else if (auto* members = value.as_object()) {
        for (auto& member : *members)
            member.value = exchanged(std::move(member.value), id, other);
    }
    return value;
}

/// Whether both reasons say the same, each about its own GPU. The text follows from the detail.
bool is_same_reason(const Reason& left,
                    const Reason& right,
                    const std::string& id,
                    const std::string& other_id) {
    const auto fix = [](const Reason& reason) {
        return reason.words ? std::pair{reason.words->fix, reason.words->commands}
                            : std::pair<std::optional<std::string>, std::vector<std::string>>{};
    };
    // Exchanging twice only sorts the lists.
    return left.code == right.code && fix(left) == fix(right) &&
           exchanged(exchanged(left.detail, id, other_id), id, other_id) ==
               exchanged(right.detail, id, other_id);
}

/// Whether `other` repeats the candidate for another GPU.
bool repeats(const Candidate& candidate, const Candidate& other, const ComputeView& view) {
    const auto is_same = [&](const Reason& left, const Reason& right) {
        return is_same_reason(left, right, *candidate.gpu, *other.gpu);
    };
    const auto name = [](const auto& variable) { return variable.first; };
    return candidate.gpu && other.gpu && other.also.empty() && candidate.verdict == other.verdict &&
           candidate.variant == other.variant &&
           std::ranges::equal(candidate.environment, other.environment, {}, name, name) &&
           std::ranges::equal(candidate.reasons, other.reasons, is_same) &&
           is_same_model(view, *candidate.gpu, *other.gpu);
}

/// Adds the GPU and the environment of a candidate that repeats the first.
void join(Candidate& candidate, const Candidate& other) {
    for (const auto& [name, value] : other.environment) {
        const auto& first = candidate.environment.at(name);
        const auto known = candidate.also_environment.find(name);
        if (known != candidate.also_environment.end())
            known->second.push_back(value);
        else if (value != first)
            // So far, the value was the same for all GPUs.
            (candidate.also_environment[name] = std::vector(candidate.also.size(), first))
                .push_back(value);
    }
    candidate.also.push_back(*other.gpu);
}

}  // namespace

void join_alike_gpus(std::vector<Candidate>& candidates, const Report& report) {
    const ComputeView view{report};
    std::vector<Candidate> joined;
    for (auto& candidate : candidates) {
        // The order of accepted candidates tells a program which one to try next.
        const bool may_move = candidate.verdict != Verdict::Accepted;
        const auto last = std::find_if(joined.rbegin(), joined.rend(), [&](const Candidate& one) {
            return !may_move || one.backend == candidate.backend;
        });
        if (last != joined.rend() && last->backend == candidate.backend &&
            repeats(*last, candidate, view))
            join(*last, candidate);
        else
            joined.push_back(std::move(candidate));
    }
    candidates = std::move(joined);
}

std::vector<Candidate> separate_candidates(const std::vector<Candidate>& joined) {
    std::vector<Candidate> all;
    for (const auto& candidate : joined)
        for (std::size_t i = 0; i <= candidate.also.size(); ++i) {
            auto& one = all.emplace_back(candidate);
            one.also.clear();
            one.also_environment.clear();
            if (i == 0)
                continue;
            one.gpu = candidate.also[i - 1];
            for (const auto& [name, values] : candidate.also_environment)
                one.environment[name] = values.at(i - 1);
            for (auto& reason : one.reasons) {
                const auto detail = exchanged(reason.detail, *candidate.gpu, *one.gpu);
                if (std::exchange(reason.detail, detail) != detail)
                    reason.words = nullptr;
            }
        }
    return all;
}

Failure failure_of(const Error& error) {
    return {.name = bus::error_name(error.code), .message = scrubbed(error.text, kMaxMessage)};
}

NoMatch no_match_of(const Decision& decision) {
    auto failure =
        failure_of({ErrorCode::NoMatch, "nothing on this machine satisfies '" +
                                            scrubbed(decision.application, kMaxName) + "'"});
    // The candidates are sorted by preference.
    if (const auto* closest =
            closest_to_fit(decision.candidates, [](const Candidate&) { return 0; }))
        failure.message += phrase("; the closest candidate is {backend}[ on {gpu}]: {why}",
                                  {{"backend", scrubbed(closest->backend, kMaxName)},
                                   {"gpu", closest->gpu},
                                   {"why", explained(*closest).text}});
    failure.candidates = decision.candidates;
    return {.failure = std::move(failure),
            .application = decision.application,
            .decision = decision.summary,
            .environment = decision.environment,
            .answers = decision.answers,
            .messages = decision.messages,
            .warnings = decision.warnings};
}

std::vector<OrtHardwareDevice> hardware_devices_of(const Report& report) {
    // ONNX Runtime lists the CPU first, as the only entry without an id.
    std::vector<OrtHardwareDevice> devices{{.type = "CPU"}};
    std::ranges::transform(report.gpus, std::back_inserter(devices), gpu_device);
    for (const auto& each : report.accelerators)
        // Other accelerators have no OrtHardwareDeviceType.
        if (each.kind == "npu")
            devices.push_back(device_of(each.id, "NPU", each.vendor, each.pci));
    return devices;
}

}  // namespace gpuprobe::inline calls
