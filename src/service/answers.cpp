// SPDX-License-Identifier: Apache-2.0
#include "service/answers.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/text.h"
#include "base/value.h"
#include "explain/explain.h"
#include "explain/report_text.h"
#include "policy/environment.h"
#include "report/access.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "wire/reply.h"

namespace gpuprobe::inline service {

std::string question_of(const std::string& access,
                        const std::string& application,
                        const Value& request) {
    auto question = access + '\0' + application + '\0';
    const auto* members = request.as_object();
    // Most requests are empty. Encoding even an empty request costs more than a cache hit.
    if (!members || !members->empty())
        question += json_line(request);
    return question;
}

namespace {

constexpr std::size_t kMaxPathElement = 200;  // well below what any file or bus name allows

/// The text without control characters, and valid for the bus, which rejects some other characters
/// as well.
std::string shown(std::string_view text) {
    return bus::bus_text(scrubbed(text));
}

std::string text_or_empty(const std::optional<std::string>& text) {
    return text ? shown(*text) : std::string{};
}

std::uint32_t number_or_zero(const std::optional<std::string>& hexadecimal) {
    return hexadecimal ? parse_hex<std::uint32_t>(*hexadecimal).value_or(0) : 0;
}

/// The variables that restrict a program to this GPU.
std::map<std::string, std::string> environment_of(const std::string& id, const Report& report) {
    std::map<std::string, std::string> shown_variables;
    if (const auto* gpu = find_gpu(report, id))
        for (const auto& [name, value] : environment_for(report, *gpu))
            shown_variables.emplace(name, bus::bus_text(value));
    return shown_variables;
}

/// The GPU's partitions without their free memory, which changes all the time and must not cause
/// change signals.
std::vector<Partition> partitions_of(const std::string& id, const Report& report) {
    const auto* gpu = find_gpu(report, id);
    auto partitions = gpu ? gpu->partitions : std::vector<Partition>{};
    for (auto& partition : partitions)
        if (partition.memory)
            partition.memory->free.reset();
    return partitions;
}

std::map<std::string, ApiAnswer> apis_of(const Gpu& gpu) {
    std::map<std::string, ApiAnswer> answers;
    for (const auto& [api, view] : gpu.apis)
        answers.emplace(api, ApiAnswer{.outcome = view.outcome, .reasons = view.reasons});
    return answers;
}

}  // namespace

Report open_to_all(const Report& report) {
    constexpr std::uint32_t kNobody = 65534;  // the usual uid and gid of the overflow user
    return as_seen_by(report, {.uid = kNobody, .groups = std::vector<std::uint32_t>{kNobody}});
}

GpuProperties properties_of(const Gpu& gpu, const Report& open_to_all) {
    // From the GPU's own entry: facts that all users may know. From `open_to_all`: facts that
    // depend on access to the device nodes.
    const PciInfo pci = gpu.pci.value_or(PciInfo{});
    return {
        .id = shown(gpu.id),
        .kind = std::string{name_of(gpu.kind)},
        .vendor = text_or_empty(gpu.vendor),
        .name = text_or_empty(gpu.name),
        .title = shown(gpu_title(gpu)),
        .pci_address = pci.address ? text_of(*pci.address) : std::string{},
        .vendor_id = number_or_zero(pci.vendor_id),
        .device_id = number_or_zero(pci.device_id),
        .driver = text_or_empty(gpu.driver.name),
        .memory_total = offered_memory(gpu.memory).value_or(Bytes{}).count,
        .health = shown(gpu.health),
        .backends = gpu.backends,
        .apis = apis_of(gpu),
        .environment = environment_of(gpu.id, open_to_all),
        .partitions = partitions_of(gpu.id, open_to_all),
    };
}

std::vector<std::string> changed_properties(const GpuProperties& before,
                                            const GpuProperties& after,
                                            bool has_other_words) {
    // Id and PciAddress are constant for an object. PowerState does not emit signals.
    std::vector<std::string> names;
    const auto compare = [&](const char* name, const auto member) {
        if (!(before.*member == after.*member))
            names.emplace_back(name);
    };
    compare("Kind", &GpuProperties::kind);
    compare("Vendor", &GpuProperties::vendor);
    compare("Name", &GpuProperties::name);
    compare("Title", &GpuProperties::title);
    compare("VendorId", &GpuProperties::vendor_id);
    compare("DeviceId", &GpuProperties::device_id);
    compare("Driver", &GpuProperties::driver);
    compare("MemoryTotal", &GpuProperties::memory_total);
    compare("Health", &GpuProperties::health);
    if (before.backends != after.backends || has_other_words)
        names.emplace_back("Backends");
    if (before.apis != after.apis || has_other_words)
        names.emplace_back("Apis");
    compare("Environment", &GpuProperties::environment);
    compare("Partitions", &GpuProperties::partitions);
    return names;
}

std::string path_element(std::string_view id) {
    std::string element{id.substr(0, kMaxPathElement)};
    const auto is_allowed = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    };
    std::ranges::replace_if(element, std::not_fn(is_allowed), '_');
    return element.empty() ? "_" : element;
}

std::string partition_path(const std::string& path, std::string_view name) {
    return path + "/" + path_element(name);
}

namespace {

/// Maximum number of reasons, over all candidates, with details and without them. A manifest with
/// 512 variants produces thousands.
constexpr std::size_t kMaxDetailed = 1024;
constexpr std::size_t kMaxBare = 8192;

/// Adds the reason's text, and its fix if there is one, to its dictionary.
void add_words(const Reason& reason, const ReasonPlace& place, bus::Dictionary& entry) {
    const auto words = explained(reason, place);
    entry.emplace("Text", sdbus::Variant{bus::bus_text(words.text)});
    if (words.fix)
        entry.emplace("Fix", sdbus::Variant{bus::bus_text(*words.fix)});
}

/// The record as a dictionary, with a text for each reason.
template <class Record>
bus::Dictionary with_words(const Record& record, const ReasonPlace& place) {
    const bus::BusEncoding encoding{
        .add_words = [&place](const Reason& reason, const bus::ReasonOwner& /*owner*/,
                              bus::Dictionary& entry) { add_words(reason, place, entry); }};
    return bus::dictionary_of(record, encoding);
}

std::size_t reason_count(const Recommendation& recommendation) {
    std::size_t count = 0;
    for (const auto& candidate : recommendation.candidates)
        count += candidate.reasons.size() + candidate.warnings.size();
    return count;
}

/// Drops the reasons or their details, depending on the number of reasons in all candidates.
void shorten(std::vector<Reason>& reasons, std::size_t reasons_in_all) {
    if (reasons_in_all > kMaxBare)
        reasons.clear();
    for (auto& reason : reasons)
        reason.detail = Value{Value::Object{}};
}

/// Keeps the answer small enough for the bus.
void shorten(Recommendation& recommendation) {
    const auto reasons = reason_count(recommendation);
    if (reasons <= kMaxDetailed)
        return;
    for (auto& candidate : recommendation.candidates) {
        shorten(candidate.reasons, reasons);
        shorten(candidate.warnings, reasons);
    }
}

}  // namespace

bus::BusEncoding spelling_for(PathOf path_of, FindingsOf findings, const ReasonPlace& machine) {
    // `found` caches the findings for all reasons of one answer.
    return {.path_of = std::move(path_of),
            .add_words = [findings = std::move(findings), machine,
                          found = std::optional<std::vector<Finding>>{}](
                             const Reason& reason, const bus::ReasonOwner& owner,
                             bus::Dictionary& entry) mutable {
                if (findings && !found)
                    found = findings();
                // A decision's backend is the chosen one, but its warnings may concern another, so
                // use the backend only for reasons that belong to a GPU.
                const auto backend = owner.gpu.empty() ? std::string{} : owner.backend;
                add_words(reason,
                          {.findings = found ? &*found : nullptr,
                           .host = machine.host,
                           .is_root = machine.is_root,
                           .gpu = owner.gpu,
                           .api = std::string{api_below(backend)}},
                          entry);
            }};
}

bus::Dictionary answer_from(Decision decision, bool explains, const bus::BusEncoding& encoding) {
    // Optional members are left out if they are empty.
    std::vector<std::string_view> left_out;
    if (!explains)
        left_out = {"application", "candidates"};
    if (decision.answers.empty())
        left_out.emplace_back("answers");
    if (decision.messages.empty())
        left_out.emplace_back("messages");
    if (decision.warnings.empty())
        left_out.emplace_back("warnings");
    if (!decision.backend)
        decision.backend = "";  // Backend is always present, so that clients can rely on it
    return bus::dictionary_of(decision, encoding, std::move(left_out));
}

bus::Dictionary answer_from(Recommendation recommendation,
                            bool explains,
                            const bus::BusEncoding& encoding) {
    shorten(recommendation);
    // Without an explanation, the list of candidates is left out.
    const std::vector<std::string_view> candidates{"candidates"};
    return bus::dictionary_of(recommendation, encoding,
                              explains ? std::vector<std::string_view>{} : candidates);
}

bus::Dictionary answer_from(const engine::LiveMemory& memory) {
    std::vector<std::string_view> left_out;
    if (memory.reasons.empty())
        left_out.emplace_back("reasons");
    return bus::dictionary_of(memory, spelling_for(), std::move(left_out));
}

std::map<std::string, std::string> identifiers_of(const Gpu& gpu) {
    std::map<std::string, std::string> identifiers;
    // Other members of the identity, such as numbers, are not identifiers.
    for (const auto& [key, variant] : bus::dictionary_of(gpu.identity))
        if (bus::signature_in(variant) == "s")
            identifiers.emplace(key, variant.get<std::string>());
    return identifiers;
}

bus::Dictionary probe_answer(const Report& report, const ProbeRequest& request) {
    const auto& apis = request.apis;
    std::vector<bus::Dictionary> probes;
    for (const auto& probe : report.probes)
        if (probe.stage == request.stage &&
            (apis.empty() || std::ranges::find(apis, probe.api) != apis.end()))
            probes.push_back(bus::dictionary_of(probe));
    bus::Dictionary answer;
    answer.emplace("Generation", sdbus::Variant{report.generation});
    answer.emplace("Probes", sdbus::Variant{probes});
    return answer;
}

std::map<std::string, bus::Dictionary> backends_from(
    const std::map<std::string, BackendView>& backends,
    const std::string& gpu,
    const std::vector<Finding>& findings) {
    std::map<std::string, bus::Dictionary> answer;
    for (const auto& [name, view] : backends)
        answer.emplace(
            bus::bus_text(name),
            with_words(view,
                       {.findings = &findings, .gpu = gpu, .api = std::string{api_below(name)}}));
    return answer;
}

std::map<std::string, bus::Dictionary> apis_from(const std::map<std::string, ApiAnswer>& apis,
                                                 const std::string& gpu,
                                                 const std::vector<Finding>& findings) {
    std::map<std::string, bus::Dictionary> answer;
    for (const auto& [name, api] : apis)
        answer.emplace(bus::bus_text(name),
                       with_words(api, {.findings = &findings, .gpu = gpu, .api = name}));
    return answer;
}

std::string no_match_message(const Decision& decision) {
    return scrubbed("no backend fits for " + decision.application + ": " + decision.summary, 1024);
}

}  // namespace gpuprobe::inline service
