// SPDX-License-Identifier: Apache-2.0
#include "service/answers.h"

#include <algorithm>
#include <span>

#include "base/parse.h"
#include "base/value_json.h"
#include "wire/reason.h"
#include "wire/text.h"
#include "wire/value.h"

namespace gpuprobe {
namespace {

/// Candidates that follow each other and differ in their GPU only. Machines with many GPUs have
/// many of one kind; the bus reads each value of a message, so that telling them one by one would
/// cost more than all else.
using Alike = std::span<const Candidate>;

bool is_alike(const Candidate& left, const Candidate& right) {
    return left.gpu && right.gpu && left.backend == right.backend &&
           left.verdict == right.verdict && left.reasons == right.reasons;
}

/// The first of the candidates and those like it.
Alike leading_alike(Alike candidates) {
    std::size_t count = 1;
    while (count < candidates.size() && is_alike(candidates.front(), candidates[count]))
        ++count;
    return candidates.first(count);
}

std::vector<std::string> reasons_from(const std::vector<Reason>& reasons) {
    std::vector<std::string> texts;
    for (const auto& reason : reasons)
        texts.push_back(bus::reason_text(reason.code, reason.detail));
    return texts;
}

/// The same of those that a record holds.
std::vector<std::string> reasons_in(const Value& record) {
    std::vector<std::string> texts;
    if (const auto* reasons = record.at("reasons").as_array())
        for (const auto& reason : *reasons)
            if (const auto* code = reason.at("code").as_string())
                texts.push_back(bus::reason_text(*code, reason.at("detail")));
    return texts;
}

/// A record with reasons. A Variant of sdbus-c++ 2 converts to anything, also to what
/// insert_or_assign makes a value from; an assignment does not ask.
bus::Dictionary reasoned(const Value& record) {
    auto entry = bus::record_dictionary(record);
    entry["Reasons"] = sdbus::Variant{reasons_in(record)};
    return entry;
}

bus::Dictionary backend_from(const Value& backend) {
    auto entry = reasoned(backend);
    if (const auto& checked = backend.at("verification"); checked.is_object())
        entry["Verification"] = sdbus::Variant{reasoned(checked)};
    if (const auto& measured = backend.at("measurement"); measured.is_object())
        entry["Measurement"] = sdbus::Variant{reasoned(measured)};
    return entry;
}

bus::Dictionary entry_from(Alike candidates, const PathOf& path_of) {
    const auto& first = candidates.front();
    std::vector<sdbus::ObjectPath> gpus;
    for (const auto& candidate : candidates)
        if (candidate.gpu)
            gpus.push_back(path_of(*candidate.gpu));
    bus::Dictionary entry;
    entry.emplace("Backend", sdbus::Variant{bus::bus_text(first.backend)});
    entry.emplace("Verdict", sdbus::Variant{std::string{name_of(first.verdict)}});
    if (!gpus.empty())
        entry.emplace("Gpus", sdbus::Variant{gpus});
    if (!first.reasons.empty())
        entry.emplace("Reasons", sdbus::Variant{reasons_from(first.reasons)});
    return entry;
}

std::map<std::string, std::string> environment_from(
    const std::map<std::string, std::string>& variables) {
    std::map<std::string, std::string> clean;
    for (const auto& [name, text] : variables)
        clean.emplace(bus::bus_text(name), bus::bus_text(text));
    return clean;
}

std::vector<std::string> texts_from(const std::vector<std::string>& texts) {
    std::vector<std::string> clean;
    for (const auto& text : texts)
        clean.push_back(bus::bus_text(text));
    return clean;
}

void add_size(bus::Dictionary& answer, const char* key, const std::optional<Bytes>& size) {
    if (size)
        answer.emplace(key, sdbus::Variant{size->count});
}

}  // namespace

bus::Dictionary answer_from(const Decision& decision, const PathOf& path_of) {
    std::vector<sdbus::ObjectPath> gpus;
    for (const auto& id : decision.gpus)
        gpus.push_back(path_of(id));
    std::vector<bus::Dictionary> candidates;
    for (Alike rest{decision.candidates}; !rest.empty();) {
        const auto alike = leading_alike(rest);
        candidates.push_back(entry_from(alike, path_of));
        rest = rest.subspan(alike.size());
    }
    bus::Dictionary answer;
    answer.emplace("Backend", sdbus::Variant{bus::bus_text(decision.backend.value_or(""))});
    answer.emplace("Gpus", sdbus::Variant{gpus});
    answer.emplace("Environment", sdbus::Variant{environment_from(decision.environment)});
    answer.emplace("Decision", sdbus::Variant{bus::bus_text(decision.summary)});
    if (!decision.answers.empty())
        answer.emplace("Answers", sdbus::Variant{environment_from(decision.answers)});
    if (!decision.messages.empty())
        answer.emplace("Messages", sdbus::Variant{texts_from(decision.messages)});
    answer.emplace("Candidates", sdbus::Variant{candidates});
    answer.emplace("Generation", sdbus::Variant{decision.generation});
    return answer;
}

bus::Dictionary answer_from(const engine::LiveMemory& memory) {
    bus::Dictionary answer;
    if (memory.kind)
        answer.emplace("Kind", sdbus::Variant{std::string{name_of(*memory.kind)}});
    add_size(answer, "Physical", memory.physical);
    add_size(answer, "Allocatable", memory.allocatable);
    add_size(answer, "Free", memory.free);
    if (memory.free_at) {
        const std::int64_t instant = memory.free_at->time_since_epoch().count();
        answer.emplace("FreeAtUsec", sdbus::Variant{instant});
    }
    answer.emplace("Evidence", sdbus::Variant{bus::record_dictionaries(to_value(memory.evidence))});
    answer.emplace("Source", sdbus::Variant{bus::bus_text(memory.source)});
    if (!memory.reasons.empty())
        answer.emplace("Reasons", sdbus::Variant{reasons_from(memory.reasons)});
    return answer;
}

std::map<std::string, std::string> identifiers_of(const Gpu& gpu) {
    std::map<std::string, std::string> identifiers;
    for (const auto& [key, variant] : bus::record_dictionary(to_value(gpu.identity)))
        if (bus::signature_in(variant) == "s")
            identifiers.emplace(key, variant.get<std::string>());
    return identifiers;
}

bus::Dictionary probe_answer(const Report& report, const engine::ProbeRequest& request) {
    const auto& apis = request.apis;
    std::vector<bus::Dictionary> probes;
    for (const auto& probe : report.probes)
        if (probe.stage == request.stage &&
            (apis.empty() || std::ranges::find(apis, probe.api) != apis.end()))
            probes.push_back(bus::record_dictionary(to_value(probe)));
    bus::Dictionary answer;
    answer.emplace("Generation", sdbus::Variant{report.generation});
    answer.emplace("Probes", sdbus::Variant{probes});
    return answer;
}

std::map<std::string, bus::Dictionary> backends_from(const Value& backends) {
    std::map<std::string, bus::Dictionary> answer;
    if (const auto* members = backends.as_object())
        for (const auto& member : *members)
            answer.emplace(bus::bus_text(member.key), backend_from(member.value));
    return answer;
}

std::string no_match_message(const Decision& decision) {
    const auto line =
        scrubbed("no backend fits for " + decision.consumer + ": " + decision.summary, 1024);
    auto trace = json_line(to_value(decision));
    auto shorter = decision;
    if (trace.size() > kMaxTrace.count) {
        for (auto& candidate : shorter.candidates)
            for (auto& reason : candidate.reasons)
                reason.detail = Value{Value::Object{}};
        trace = json_line(to_value(shorter));
    }
    if (trace.size() > kMaxTrace.count) {
        for (auto& candidate : shorter.candidates)
            candidate.reasons.clear();
        trace = json_line(to_value(shorter));
    }
    if (trace.size() > kMaxTrace.count) {
        shorter.candidates.clear();
        trace = json_line(to_value(shorter));
    }
    return line + "\n" + trace;
}

}  // namespace gpuprobe
