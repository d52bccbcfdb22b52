// SPDX-License-Identifier: Apache-2.0
#include "store/probe_cache.h"

namespace gpuprobe {
namespace {

constexpr Bytes kMaxCache = mib(8);
constexpr int kFormat = 2;

Error malformed(std::string_view member) {
    return Error{ErrorCode::Malformed, std::string{member} + ": missing"};
}

Result<std::vector<ProbeResult>> read_probes(const Value& document) {
    const auto* items = document.at("probes").as_array();
    if (!items)
        return malformed("probes");
    std::vector<ProbeResult> probes;
    for (const auto& item : *items)
        probes.push_back(TRY(probe_result_from(item)));
    return probes;
}

Result<std::vector<CachedTrial>> read_trials(const Value& document) {
    const auto* items = document.at("trials").as_array();
    if (!items)
        return malformed("trials");
    std::vector<CachedTrial> trials;
    for (const auto& item : *items) {
        const auto* fingerprint = item.at("fingerprint").as_string();
        if (!fingerprint)
            return malformed("trials.fingerprint");
        trials.push_back(
            {.fingerprint = *fingerprint, .probe = TRY(probe_result_from(item.at("probe")))});
    }
    return trials;
}

Result<CachedAnswers> answers_in(const Value& document, std::string_view fingerprint) {
    const auto* made_for = document.at("fingerprint").as_string();
    if (!made_for)
        return malformed("fingerprint");
    CachedAnswers answers{.trials = TRY(read_trials(document))};
    if (*made_for == fingerprint)
        answers.probes = TRY(read_probes(document));
    return answers;
}

}  // namespace

ProbeCache::ProbeCache(std::string path) : file_{std::move(path), "cache", kFormat, kMaxCache} {}

Result<CachedAnswers> ProbeCache::load(std::string_view fingerprint) const {
    auto answers = answers_in(TRY(file_.load()), fingerprint);
    if (!answers)
        return std::move(answers).error().in(file_.path());
    return answers;
}

Status ProbeCache::save(std::string_view fingerprint, const CachedAnswers& answers) const {
    Value document;
    document["fingerprint"] = Value{fingerprint};
    document["probes"] = Value{Value::Array{}};
    for (const auto& probe : answers.probes)
        document["probes"].push_back(value_of(probe));
    document["trials"] = Value{Value::Array{}};
    for (const auto& [print, probe] : answers.trials)
        document["trials"].push_back(
            Value{Value::Object{{"fingerprint", print}, {"probe", value_of(probe)}}});
    return file_.save(document);
}

}  // namespace gpuprobe
