// SPDX-License-Identifier: Apache-2.0
#include "explain/doctor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "explain/explain.h"
#include "explain/place.h"
#include "report/compute_view.h"

namespace gpuprobe::inline explain {
namespace {

/// A member of the evidence: the only value, or a list of several values.
Value shown(const std::vector<Met>& met) {
    if (met.empty())
        return {};
    if (met.size() == 1)
        return *met.front().value;
    Value list{Value::Array{}};
    for (const auto& one : met)
        list.push_back(*one.value);
    return list;
}

/// The number of members that are known.
std::ptrdiff_t fullness(const Value& evidence) {
    return std::ranges::count_if(*evidence.as_object(),
                                 [](const auto& member) { return !member.value.is_null(); });
}

/// The item as an object. A plain value becomes the member `value`; the name of an object's member
/// becomes `key`.
Value item_of(const Met& met) {
    Value item = met.value->is_object() ? *met.value : Value{Value::Object{{"value", *met.value}}};
    if (!met.key.empty() && item.at("key").is_null())
        item["key"] = Value{met.key};
    return item;
}

/// The device that causes are evaluated for. All members are unset for the machine itself, and
/// `gpu` for an accelerator.
struct Device {
    std::optional<std::string> id = {};
    const Gpu* gpu = nullptr;
    const Value* value = nullptr;
};

/// Evaluates all causes on one report.
class Examination {
public:
    Examination(const Report& report, const Surroundings& surroundings)
        : report_{report},
          place_{report, surroundings},
          roots_{examined(report, surroundings, place_)} {}
    Examination(const Report& report, const Surroundings&& surroundings) = delete;

    /// The fix of a cause for given evidence on a device of which nothing else is known.
    [[nodiscard]] std::optional<std::string> fix_of(const Cause& cause,
                                                    const Value& evidence) const {
        const Facts facts{{.report = report_}};
        // The scene has no device: conditions can only use the roots and the evidence.
        const Scene scene{.roots = &roots_, .facts = &facts, .evidence = &evidence};
        return all_hold(cause.when, scene) ? told(cause, evidence, {}, scene).fix : std::nullopt;
    }

    /// Evaluates the causes for the machine, then each GPU, then each accelerator.
    std::vector<Finding> findings() {
        const auto& report = roots_.at("report");
        examine_all({}, "machine");
        for (std::size_t i = 0; i < report_.gpus.size(); ++i)
            examine_all({.id = report_.gpus[i].id,
                         .gpu = &report_.gpus[i],
                         .value = &(*report.at("gpus").as_array())[i]},
                        "gpu");
        for (std::size_t i = 0; i < report_.accelerators.size(); ++i)
            examine_all({.id = report_.accelerators[i].id,
                         .value = &(*report.at("accelerators").as_array())[i]},
                        "accelerator");
        return std::move(findings_);
    }

private:
    /// Evaluates all causes of that kind for one device and adds the findings that no other finding
    /// explains.
    void examine_all(const Device& device, std::string_view kind) {
        const Facts facts{{.report = report_, .gpu = device.gpu}};
        const Scene scene{.roots = &roots_, .device = device.value, .facts = &facts};
        std::vector<Finding> own;
        // A cause replaces the causes that it explains (`instead_of`), about the same API if it has
        // one. Causes of the machine also replace causes of its devices.
        auto explained = explained_;
        for (const auto& cause : Causes::current().all()) {
            // An `is_alone` cause is skipped if the device already has a warning or an error.
            const bool is_of = cause.of == kind || (device.id && cause.of == "device");
            if (!is_of || (cause.is_alone && gravest(own) >= Severity::Warning))
                continue;
            for (auto& evidence : evidence_of(cause, scene)) {
                own.push_back(told(cause, std::move(evidence), device, scene));
                for (const auto& id : cause.instead_of)
                    explained.emplace(id, api_of(own.back()));
            }
        }
        for (auto& finding : own)
            // Only filter now: a cause may explain one that was evaluated before it.
            if (!explained.contains({finding.id, ""}) &&
                !explained.contains({finding.id, api_of(finding)}))
                add_or_join(std::move(finding));
        if (!device.id)
            explained_ = std::move(explained);
    }

    static std::string api_of(const Finding& finding) {
        return word_of(finding.evidence.at("api"));
    }

    /// Adds a finding, or adds its device to an equal finding of an earlier device.
    void add_or_join(Finding finding) {
        const auto earlier = std::ranges::find_if(findings_, [&](const Finding& other) {
            return other.gpu && other.gpu != finding.gpu && other.id == finding.id &&
                   other.severity == finding.severity && other.evidence == finding.evidence &&
                   other.fix == finding.fix && other.sentence == finding.sentence;
        });
        if (earlier == findings_.end())
            findings_.push_back(std::move(finding));
        else
            earlier->gpus.push_back(*finding.gpu);
    }

    /// The evidence for which the conditions of a cause hold, without duplicates. If several have
    /// the same value in the cause's `once`, the one with the most known members is kept.
    static std::vector<Value> evidence_of(const Cause& cause, Scene scene) {
        std::vector<Value> found;
        for (auto& evidence : candidates(cause, scene)) {
            scene.evidence = &evidence;
            if (!all_hold(cause.when, scene) ||
                std::ranges::any_of(cause.unless, [&](const Condition& condition) {
                    return holds(condition, scene) == Truth::True;
                }))
                continue;
            // Only keep the shown members of an item: the rest of it may be large.
            Value members = is_item(cause) ? Value{Value::Object{}} : evidence;
            for (const auto& [name, path] : cause.show)
                members[name] = shown(met_by(path, scene));
            const auto same = std::ranges::find_if(found, [&](const Value& other) {
                return cause.once ? other.at(*cause.once) == members.at(*cause.once)
                                  : other == members;
            });
            if (same == found.end())
                found.push_back(std::move(members));
            else if (fullness(members) > fullness(*same))
                *same = std::move(members);
        }
        return found;
    }

    /// True if the evidence consists only of the members that the cause shows. The detail of a
    /// reason is kept as a whole.
    static bool is_item(const Cause& cause) {
        if (cause.from.empty())
            return false;
        const auto& steps = cause.from.front().steps;
        return steps.empty() || steps.back().name != "detail";
    }

    /// The items that may be evidence: the values at the cause's paths, or an empty one without
    /// paths.
    static std::vector<Value> candidates(const Cause& cause, const Scene& scene) {
        std::vector<Value> all;
        for (const auto& from : cause.from)
            for (const auto& met : met_by(from, scene))
                all.push_back(is_item(cause) ? item_of(met) : *met.value);
        if (cause.from.empty())
            all.push_back(Value{Value::Object{}});
        return all;
    }

    /// Makes the finding for a cause and its evidence, with the fix for this place.
    Finding told(const Cause& cause, Value evidence, const Device& device, Scene scene) const {
        // Fixes differ in containers, so texts and conditions need to know it.
        if (device.id && report_.host.container)
            evidence["container"] = *report_.host.container;
        scene.evidence = &evidence;
        Finding finding{.id = cause.id, .severity = cause.severity, .gpu = device.id};
        if (device.id)
            finding.gpus = {*device.id};
        // Circumstances may lower the severity.
        for (const auto& [at_most, conditions] : cause.eased)
            if (all_hold(conditions, scene))
                finding.severity = std::min(finding.severity,
                                            enum_from<Severity>(at_most).value_or(cause.severity));
        // The first fix whose conditions hold. It may also have its own sentence.
        const auto remedy = std::ranges::find_if(
            cause.fixes, [&](const Remedy& each) { return all_hold(each.when, scene); });
        const bool is_helped = remedy != cause.fixes.end();
        if (is_helped && remedy->case_name)
            evidence["case"] = *remedy->case_name;
        finding.evidence = std::move(evidence);
        // The fix's sentence has precedence over the cause's, and that over the reason's.
        const auto& own = is_helped && remedy->text ? remedy->text : cause.text;
        finding.sentence = place_.sentence(own ? *own : sentence_of(cause.id), finding.evidence);
        if (is_helped)
            add_fix(*remedy, finding);
        return finding;
    }

    /// Fills the fix and its commands. A command with an unknown value becomes part of the text
    /// only, and the finding's commands are then incomplete: not safe for a script.
    void add_fix(const Remedy& remedy, Finding& finding) const {
        auto fix = place_.fix(remedy.fix.value_or(""), finding.evidence);
        std::string_view between = fix.empty() ? "" : ": ";
        for (const auto& pattern : remedy.run) {
            auto shell = place_.command(pattern, finding.evidence);
            const auto words = shell ? *shell : place_.fix(pattern, finding.evidence);
            // Skip a command whose values are all unknown.
            if (words == kNothingKnown)
                continue;
            fix.append(between).append(words);
            between = shell ? " && " : "; ";
            if (shell)
                finding.commands.push_back(std::move(*shell));
        }
        finding.is_safe =
            remedy.is_safe.value_or(false) && finding.commands.size() == remedy.run.size();
        finding.is_for_host = remedy.is_for_host.value_or(false);
        if (!fix.empty())
            finding.fix = place_.as_caller(std::move(fix));
    }

    const Report& report_;
    Place place_;
    Value roots_;
    /// Ids of causes that a cause of the machine explains, with the API that this is limited to
    /// ("": any).
    std::set<std::pair<std::string, std::string>> explained_ = {};
    std::vector<Finding> findings_ = {};
};

}  // namespace

std::optional<std::string> found_fix(const Reason& reason, const ReasonPlace& place) {
    // A reason may name the GPU, or a partition, in `where`.
    const auto causes = Causes::current().resting_on(reason.code);
    const auto* where = reason.detail.at("where").as_string();
    const std::string gpu{whole_id(place.gpu.empty() && where ? *where : place.gpu)};
    const auto& named = reason.detail.at("node");
    const auto is_about = [&](const Finding& finding) {
        const auto* api = finding.evidence.at("api").as_string();
        const auto& node = finding.evidence.at("node");
        return (gpu.empty() || std::ranges::count(finding.gpus, gpu) > 0) &&
               (!api || place.api.empty() || *api == place.api) &&
               (node.is_null() || named.is_null() || node == named) &&
               std::ranges::find(causes, finding.id, &Cause::id) != causes.end();
    };
    // The place names GPU and API: no other finding can be meant.
    const auto is_certain = [&](const Finding& finding) {
        return !gpu.empty() && (!place.api.empty() || finding.evidence.at("api").is_null());
    };
    const Finding* first = nullptr;
    for (const auto& finding : *place.findings) {
        if (!is_about(finding))
            continue;
        if (is_certain(finding))
            return finding.fix;
        // Two candidates with different fixes: it is unclear which one is meant.
        if (first && first->fix != finding.fix)
            return std::nullopt;
        first = &finding;
    }
    return first ? first->fix : std::nullopt;
}

std::optional<std::string> usual_fix(const Reason& reason, const ReasonPlace& place) {
    auto causes = Causes::current().resting_on(reason.code);
    if (place.findings)
        // The doctor has evaluated the other causes and did not find them.
        std::erase_if(causes, [](const Cause* cause) { return cause->of != kOfAReason; });
    if (causes.empty())
        return std::nullopt;
    Report report;
    if (place.host)
        report.host = *place.host;
    else if (const auto* container = reason.detail.at("container").as_string())
        report.host.container = *container;
    const Surroundings here{.is_root = place.is_root};
    const Examination examination{report, here};
    for (const auto* cause : causes)
        if (auto fix = examination.fix_of(*cause, reason.detail))
            return fix;
    return std::nullopt;
}

std::vector<Finding> examine(const Report& report, const Surroundings& surroundings) {
    return Examination{report, surroundings}.findings();
}

Value summary_of(const std::vector<Finding>& findings) {
    Value summary{Value::Array{}};
    for (const auto& finding : findings)
        if (finding.severity >= Severity::Warning)
            summary.push_back(Value{Value::Object{{"id", finding.id},
                                                  {"severity", to_value(finding.severity)},
                                                  {"gpus", to_value(finding.gpus)}}});
    return summary;
}

Severity gravest(const std::vector<Finding>& findings) {
    auto worst = Severity::Ok;
    for (const auto& finding : findings)
        worst = std::max(worst, finding.severity);
    return worst;
}

}  // namespace gpuprobe::inline explain
