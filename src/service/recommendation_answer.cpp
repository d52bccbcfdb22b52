// SPDX-License-Identifier: Apache-2.0
#include "service/answers.h"
#include "wire/reason.h"
#include "wire/text.h"
#include "wire/value.h"

namespace gpuprobe {
namespace {

/// Reasons of all candidates together with their details; a manifest of 512 variants has thousands.
constexpr std::size_t kMaxDetailed = 1024;
constexpr std::size_t kMaxBare = 8192;

std::vector<sdbus::ObjectPath> paths_of(const std::vector<std::string>& ids,
                                        const PathOf& path_of) {
    std::vector<sdbus::ObjectPath> paths;
    for (const auto& id : ids)
        paths.push_back(path_of(id));
    return paths;
}

std::vector<std::string> reasons_from(const std::vector<Reason>& reasons, bool with_details) {
    std::vector<std::string> texts;
    for (const auto& reason : reasons)
        texts.push_back(bus::reason_text(reason.code, with_details ? reason.detail : Value{}));
    return texts;
}

std::size_t reason_count(const Recommendation& recommendation) {
    std::size_t count = 0;
    for (const auto& candidate : recommendation.candidates)
        count += candidate.reasons.size() + candidate.warnings.size();
    return count;
}

void add_text(bus::Dictionary& answer, const char* key, const std::optional<std::string>& text) {
    if (text)
        answer.emplace(key, sdbus::Variant{bus::bus_text(*text)});
}

bus::Dictionary entry_from(const VariantCandidate& candidate,
                           std::size_t reasons_in_all,
                           const PathOf& path_of) {
    const bool with_details = reasons_in_all <= kMaxDetailed;
    bus::Dictionary entry;
    entry.emplace("Variant", sdbus::Variant{bus::bus_text(candidate.variant)});
    entry.emplace("Family", sdbus::Variant{bus::bus_text(candidate.family)});
    entry.emplace("Tier", sdbus::Variant{std::int64_t{candidate.tier}});
    entry.emplace("Priority", sdbus::Variant{std::int64_t{candidate.priority}});
    entry.emplace("Verdict", sdbus::Variant{std::string{name_of(candidate.verdict)}});
    if (!candidate.gpus.empty())
        entry.emplace("Gpus", sdbus::Variant{paths_of(candidate.gpus, path_of)});
    if (!candidate.reasons.empty() && reasons_in_all <= kMaxBare)
        entry.emplace("Reasons", sdbus::Variant{reasons_from(candidate.reasons, with_details)});
    if (!candidate.warnings.empty() && reasons_in_all <= kMaxBare)
        entry.emplace("Warnings", sdbus::Variant{reasons_from(candidate.warnings, with_details)});
    add_text(entry, "Note", candidate.note);
    return entry;
}

std::map<std::string, std::string> environment_from(const Recommendation& recommendation) {
    std::map<std::string, std::string> clean;
    for (const auto& [name, text] : recommendation.environment)
        clean.emplace(bus::bus_text(name), bus::bus_text(text));
    return clean;
}

}  // namespace

bus::Dictionary answer_from(const Recommendation& recommendation, const PathOf& path_of) {
    std::vector<bus::Dictionary> candidates;
    const auto reasons = reason_count(recommendation);
    for (const auto& candidate : recommendation.candidates)
        candidates.push_back(entry_from(candidate, reasons, path_of));
    bus::Dictionary answer;
    add_text(answer, "Product", recommendation.product);
    add_text(answer, "Version", recommendation.version);
    add_text(answer, "Status", std::string{name_of(recommendation.status)});
    add_text(answer, "Platform", recommendation.platform);
    add_text(answer, "Variant", recommendation.variant);
    add_text(answer, "Default", recommendation.project_default);
    add_text(answer, "Hint", recommendation.hint);
    add_text(answer, "ManifestSha256", recommendation.manifest_sha256);
    add_text(answer, "Rules", recommendation.rules);
    if (!recommendation.artifact.is_null())
        answer.emplace("Artifact", sdbus::Variant{bus::dictionary_from(recommendation.artifact)});
    answer.emplace("Environment", sdbus::Variant{environment_from(recommendation)});
    answer.emplace("Gpus", sdbus::Variant{paths_of(recommendation.gpus, path_of)});
    answer.emplace("Fallback", sdbus::Variant{recommendation.fallback});
    answer.emplace("Warnings", sdbus::Variant{reasons_from(recommendation.warnings, true)});
    answer.emplace("Candidates", sdbus::Variant{candidates});
    answer.emplace("Generation", sdbus::Variant{recommendation.generation});
    return answer;
}

}  // namespace gpuprobe
