// SPDX-License-Identifier: Apache-2.0
#include "service/answers.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "explain/explain.h"
#include "report/api_table.h"

namespace gpuprobe::inline service {
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
    const bus::Spelling spelling{
        .add_words = [&place](const Reason& reason, const bus::ReasonOwner& /*owner*/,
                              bus::Dictionary& entry) { add_words(reason, place, entry); }};
    return bus::dictionary_of(record, spelling);
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

bus::Spelling spelling_for(PathOf path_of, FindingsOf findings, const ReasonPlace& machine) {
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

bus::Dictionary answer_from(Decision decision, bool explains, const bus::Spelling& spelling) {
    // Optional members are left out if they are empty.
    std::vector<std::string_view> left_out;
    if (!explains)
        left_out = {"consumer", "candidates"};
    if (decision.answers.empty())
        left_out.emplace_back("answers");
    if (decision.messages.empty())
        left_out.emplace_back("messages");
    if (decision.warnings.empty())
        left_out.emplace_back("warnings");
    if (!decision.backend)
        decision.backend = "";  // Backend is always present, so that clients can rely on it
    return bus::dictionary_of(decision, spelling, std::move(left_out));
}

bus::Dictionary answer_from(Recommendation recommendation,
                            bool explains,
                            const bus::Spelling& spelling) {
    shorten(recommendation);
    // Without an explanation, the list of candidates is left out.
    const std::vector<std::string_view> candidates{"candidates"};
    return bus::dictionary_of(recommendation, spelling,
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
    for (const auto& [name, said] : apis)
        answer.emplace(bus::bus_text(name),
                       with_words(said, {.findings = &findings, .gpu = gpu, .api = name}));
    return answer;
}

std::string no_match_message(const Decision& decision) {
    return scrubbed("no backend fits for " + decision.consumer + ": " + decision.summary, 1024);
}

}  // namespace gpuprobe::inline service
