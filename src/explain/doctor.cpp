// SPDX-License-Identifier: Apache-2.0
#include "explain/doctor.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/parse.h"
#include "explain/cause_terms.h"
#include "explain/explain.h"
#include "explain/place.h"
#include "explain/shell_quote.h"
#include "knowledge/causes.h"
#include "knowledge/documents.h"
#include "knowledge/library.h"
#include "report/api_table.h"
#include "report/confinement.h"

namespace gpuprobe::inline explain {
namespace {

using knowledge::Cause;
using knowledge::Causes;
using knowledge::Remedy;

/// Where a cause finds its evidence: a path, or one of reasons of some codes: "finding CODES" of
/// the device, "judged CODES" of a backend, "note CODES" of the report, "said CODES" of an API.
struct Source {
    Path path = {};
    std::vector<std::string> codes = {};  ///< none: what the path leads to is the evidence
    bool is_said = false;                 ///< the path leads to APIs, each with reasons
};

/// A member of the evidence: what a path leads to, or a text.
struct Member {
    std::string name = {};
    Path path = {};
    std::optional<std::string> text = {};
};

/// A cause with its terms read.
struct ReadCause {
    const Cause* row = nullptr;  // borrowed from Causes::current()
    Severity severity = Severity::Info;
    std::vector<Source> from = {};
    std::vector<Condition> eased = {};
    std::vector<Condition> when = {};
    std::vector<Condition> unless = {};
    std::vector<Member> show = {};
    std::vector<std::vector<Condition>> fixes = {};
};

Result<Source> source_from(std::string_view text) {
    constexpr auto kReasons = std::to_array<std::array<std::string_view, 3>>(
        {{"finding ", "device.findings[code=", "].detail"},
         {"judged ", "device.backends.*.reasons[code=", "].detail"},
         {"note ", "report.notes[code=", "].detail"},
         {"said ", "device.apis.*", ""}});
    for (const auto& [word, lead, end] : kReasons) {
        if (!text.starts_with(word))
            continue;
        const auto codes = text.substr(word.size());
        const auto path = std::string{lead}.append(end.empty() ? end : codes).append(end);
        Source source{.path = TRY(parse_path(path)), .is_said = end.empty()};
        for (const auto code : split(codes, '|'))
            if (!find_reason(code))
                return Error{ErrorCode::InvalidRequest, scrubbed(code, 64) + ": no such code"};
            else
                source.codes.emplace_back(code);
        return source;
    }
    return Source{.path = TRY(parse_path(text))};
}

Result<std::vector<Condition>> conditions(const std::vector<std::string>& texts) {
    std::vector<Condition> read;
    for (const auto& text : texts)
        read.push_back(TRY(parse_condition(text)));
    return read;
}

Result<ReadCause> read_cause(const Cause& row) {
    const auto severity = enum_from<Severity>(row.severity);
    if (!severity)
        return Error{ErrorCode::InvalidRequest, "severity: " + row.severity};
    ReadCause cause{.row = &row, .severity = *severity};
    for (const auto& from : row.from)
        cause.from.push_back(TRY(source_from(from)));
    cause.eased = TRY(conditions(row.eased));
    cause.when = TRY(conditions(row.when));
    cause.unless = TRY(conditions(row.unless));
    for (const auto& [member, path] : row.show)
        if (path.starts_with('\''))
            cause.show.push_back({.name = member, .text = path.substr(1)});
        else
            cause.show.push_back({.name = member, .path = TRY(parse_path(path))});
    for (const auto& fix : row.fixes)
        cause.fixes.push_back(TRY(conditions(fix.when)));
    return cause;
}

const std::vector<ReadCause>& read_causes() {
    return knowledge::made_of_documents([](const knowledge::Library&) {
        std::vector<ReadCause> causes;
        for (const auto& row : Causes::current().all())
            if (auto cause = read_cause(row))  // one that is malformed is a bug that a test finds
                causes.push_back(std::move(cause).value());
        return causes;
    });
}

/// One member of the evidence: a value, or the list of several.
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

bool has(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool all_hold(const std::vector<Condition>& conditions, const Scene& scene) {
    return std::ranges::all_of(conditions, [&](const Condition& condition) {
        return holds(condition, scene) == Truth::True;
    });
}

/// How many members are known.
std::ptrdiff_t fullness(const Value& evidence) {
    return std::ranges::count_if(*evidence.as_object(),
                                 [](const auto& member) { return !member.value.is_null(); });
}

/// What an API said, with its driver and what that wrote.
Value of_api(const Met& api, const Value& reason) {
    auto evidence = reason.at("detail");
    evidence["api"] = Value{api.key};
    if (word_of(evidence.at("driver")).empty())
        evidence["driver"] =
            word_of(api.value->at("driver")).empty() ? Value{} : api.value->at("driver");
    for (const auto& other : *api.value->at("reasons").as_array())
        if (other.at("code") == Value{"worker-output"} && evidence.at("output").is_null())
            evidence["output"] = other.at("detail").at("lines");
    return evidence;
}

Value item_of(const Met& met) {
    Value item = met.value->is_object() ? *met.value : Value{Value::Object{{"value", *met.value}}};
    if (!met.key.empty() && item.at("key").is_null())
        item["key"] = Value{met.key};
    return item;
}

/// A GPU or an accelerator, as far as causes ask; neither for what is of the machine.
struct Device {
    std::optional<std::string> id = {};
    const Gpu* gpu = nullptr;
    const Value* value = nullptr;
};

bool is_usable(const Gpu& gpu) {
    return std::ranges::any_of(gpu.backends,
                               [](const auto& entry) { return entry.second.usable == true; });
}

class Examination {
public:
    Examination(const Report& report, const Surroundings& surroundings)
        : report_{report}, place_{report, surroundings}, value_{to_value(report)} {
        more_["here"] = here_value(surroundings);
        more_["place"] = place_.facts();
        more_["apis"] = Value{Value::Object{}};
        for (const auto& api : kApis)
            if (!api.vendor.empty() && computes(api))
                more_["apis"][api.word] = Value{Value::Object{{"vendor", Value{api.vendor}}}};
    }

    Examination(const Report& report, const Surroundings&& surroundings) = delete;

    /// The fix of a cause for such evidence on a device of which nothing else is known.
    [[nodiscard]] std::optional<std::string> fix_of(const ReadCause& cause,
                                                    const Value& evidence) const {
        const Facts facts{{.report = report_}};
        const Scene scene{
            .report = &value_, .more = &more_, .facts = &facts, .evidence = &evidence};
        return all_hold(cause.when, scene) ? told(cause, evidence, {}, scene).fix : std::nullopt;
    }

    std::vector<Finding> findings() {
        examine_all({}, "machine");
        for (std::size_t i = 0; i < report_.gpus.size(); ++i)
            examine_all({.id = report_.gpus[i].id,
                         .gpu = &report_.gpus[i],
                         .value = &(*value_.at("gpus").as_array())[i]},
                        "gpu");
        for (std::size_t i = 0; i < report_.accelerators.size(); ++i)
            examine_all({.id = report_.accelerators[i].id,
                         .value = &(*value_.at("accelerators").as_array())[i]},
                        "accelerator");
        return std::move(findings_);
    }

private:
    Value here_value(const Surroundings& surroundings) const {
        Value here{Value::Object{}};
        for (const auto& [name, value] : surroundings.environment) {
            const auto kind = Causes::current().variables().find(name);
            if (kind != Causes::current().variables().end())
                here["environment"].push_back(Value{
                    Value::Object{{"variable", name}, {"value", value}, {"kind", kind->second}}});
        }
        for (const auto& layer : surroundings.vulkan_layers)  // Mesa's own comes with its drivers
            if (!layer.ends_with("/VkLayer_MESA_device_select.json"))
                here["layers"].push_back(Value{layer});
        here["cdi"] = to_value(surroundings.cdi_specs);
        here["wsl_libraries"] = to_value(surroundings.has_wsl_libraries);
        here["new_groups"] = to_value(surroundings.new_groups);
        here["security_label"] = to_value(surroundings.security_label);
        here["kernel_log"] = to_value(surroundings.kernel_log);
        for (const auto word : confinement::kWanted)
            if (report_.confinement &&
                std::ranges::none_of(*report_.confinement, [word](const std::string& holds) {
                    return holds.starts_with(word);
                }))
                here["unconfined"].push_back(Value{word});
        return here;
    }

    void examine_all(const Device& device, std::string_view kind) {
        const Facts facts{{.report = report_, .gpu = device.gpu}};
        const Scene scene{
            .report = &value_, .device = device.value, .more = &more_, .facts = &facts};
        std::vector<Finding> own;
        for (const auto& cause : read_causes()) {
            const bool is_of = cause.row->of == kind || (device.id && cause.row->of == "device");
            const bool is_explained = cause.row->is_alone && gravest(own) >= Severity::Warning;
            if (is_of && !is_explained)
                for (auto& evidence : evidence_of(cause, device, scene))
                    own.push_back(told(cause, std::move(evidence), device, scene));
        }
        for (auto& finding : own)
            add_or_join(std::move(finding));
    }

    /// What is the same for a device before it is told there.
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

    /// Of several with the same `once` the fullest is kept.
    static std::vector<Value> evidence_of(const ReadCause& cause,
                                          const Device& device,
                                          Scene scene) {
        std::vector<Value> found;
        for (auto& evidence : candidates(cause, device, scene)) {
            scene.evidence = &evidence;
            if (!all_hold(cause.when, scene) ||
                std::ranges::any_of(cause.unless, [&](const Condition& condition) {
                    return holds(condition, scene) == Truth::True;
                }))
                continue;
            const bool is_item = !cause.from.empty() && cause.from.front().codes.empty();
            Value members = is_item && !cause.show.empty() ? Value{Value::Object{}} : evidence;
            for (const auto& [name, path, text] : cause.show)
                members[name] = text ? Value{*text} : shown(met_by(path, scene));
            const auto same = std::ranges::find_if(found, [&](const Value& other) {
                return cause.row->once ? other.at(*cause.row->once) == members.at(*cause.row->once)
                                       : other == members;
            });
            if (same == found.end())
                found.push_back(std::move(members));
            else if (fullness(members) > fullness(*same))
                *same = std::move(members);
        }
        return found;
    }

    static std::vector<Value> candidates(const ReadCause& cause,
                                         const Device& device,
                                         const Scene& scene) {
        if (cause.from.empty())
            return {Value{Value::Object{}}};
        std::vector<Value> all;
        for (const auto& source : cause.from)
            for (const auto& met : met_by(source.path, scene))
                if (source.codes.empty())
                    all.push_back(item_of(met));
                else if (!source.is_said)
                    all.push_back(*met.value);
                else if (device.gpu && is_served(*device.gpu))
                    for (const auto& reason : *met.value->at("reasons").as_array())
                        if (has(source.codes, word_of(reason.at("code"))))
                            all.push_back(of_api(met, reason));
        return all;
    }

    /// A GPU that only shows pictures, and one that no driver serves here, misses nothing.
    static bool is_served(const Gpu& gpu) {
        return gpu.kind != GpuKind::DisplayOnly &&
               !has_reason_with(gpu.findings, ReasonTraits::Unserved);
    }

    Finding told(const ReadCause& cause, Value evidence, const Device& device, Scene scene) const {
        if (device.id && report_.host.container)
            evidence["container"] = *report_.host.container;
        scene.evidence = &evidence;
        const auto fitting = std::ranges::find_if(
            cause.fixes, [&](const auto& when) { return all_hold(when, scene); });
        const auto* remedy =
            fitting == cause.fixes.end()
                ? nullptr
                : &cause.row->fixes[static_cast<std::size_t>(fitting - cause.fixes.begin())];
        const bool is_eased = !cause.eased.empty() && all_hold(cause.eased, scene);
        if (remedy && remedy->case_name)
            evidence["case"] = *remedy->case_name;
        Finding finding{
            .id = cause.row->id,
            .severity = is_eased ? std::min(cause.severity, Severity::Warning) : cause.severity,
            .gpu = device.id,
            .evidence = std::move(evidence)};
        if (device.gpu)
            finding.severity = tempered(finding, *device.gpu);
        if (device.id)
            finding.gpus = {*device.id};
        finding.sentence = filled(remedy && remedy->text ? *remedy->text : cause.row->text,
                                  lookup(finding.evidence));
        if (remedy)
            add_fix(*remedy, finding);
        return finding;
    }

    /// In a container that was given some of the machine's GPUs, the others are meant to be closed.
    [[nodiscard]] Severity tempered(const Finding& finding, const Gpu& gpu) const {
        const bool is_of_others = has_trait(finding.id, ReasonTraits::OfOtherGpus);
        return report_.host.container && is_of_others && !is_usable(gpu) &&
                       std::ranges::any_of(report_.gpus, is_usable)
                   ? std::min(finding.severity, Severity::Info)
                   : finding.severity;
    }

    /// What a placeholder stands for: a member of the evidence, or something of this place.
    [[nodiscard]] WordLookup lookup(const Value& evidence) const {
        return [this, &evidence](std::string_view word) -> std::optional<std::string> {
            const auto colon = std::min(word.find(':'), word.size());
            const auto name = word.substr(0, colon);
            const std::string of{word.substr(std::min(colon + 1, word.size()))};
            const auto object = detail_word(evidence, of);
            if (name == "install")
                return place_.install_words(of);
            if (name == "engine")
                return place_.engine(of, detail_word(evidence, "node").value_or("/dev/dri"));
            if (name == "place")
                return detail_word(more_.at("place"), of);
            if (name == "kernel-add" || name == "kernel-remove" || name == "command")
                return place_.command(std::string{name == "command" ? of : std::string{name}}, of);
            if (name == "owner" || name == "reinstall")
                return object ? place_.command(std::string{name}, shell_quoted(*object))
                              : std::nullopt;
            return detail_word(evidence, word);
        };
    }

    /// A command, or nullopt where something in it is not known here.
    [[nodiscard]] std::optional<std::string> command(std::string_view pattern,
                                                     const Value& evidence) const {
        bool is_whole = true;
        const auto words = lookup(evidence);
        auto text = filled(pattern, [&](std::string_view word) -> std::optional<std::string> {
            const bool installs = word.starts_with("install:");
            const bool is_own = word.find(':') == std::string_view::npos;
            auto found =
                installs ? place_.install_command(std::string{word.substr(8)}) : words(word);
            is_whole = is_whole && found;
            return found && is_own ? shell_quoted(*found) : found;
        });
        return is_whole ? std::optional{place_.as_caller(std::move(text))} : std::nullopt;
    }

    void add_fix(const Remedy& remedy, Finding& finding) const {
        const auto words = lookup(finding.evidence);
        auto fix = remedy.fix ? filled(*remedy.fix, words) : std::string{};
        std::string_view between = fix.empty() ? "" : ": ";
        for (const auto& pattern : remedy.run) {
            auto shell = command(pattern, finding.evidence);
            const auto text = shell ? *shell : filled(pattern, words);
            fix.append(between).append(text);
            between = shell ? " && " : "; ";
            if (shell)
                finding.commands.push_back(std::move(*shell));
        }
        finding.is_safe = remedy.is_safe && finding.commands.size() == remedy.run.size();
        finding.is_for_host = remedy.is_for_host;
        if (!fix.empty())
            finding.fix = place_.as_caller(std::move(fix));
    }

    const Report& report_;
    Place place_;
    Value value_;
    Value more_{Value::Object{}};
    std::vector<Finding> findings_ = {};
};

/// The causes that rest on reasons of a code.
const std::vector<const ReadCause*>& causes_of(const std::string& code) {
    static const std::vector<const ReadCause*> kNone;
    const auto& by_code = knowledge::made_of_documents([](const knowledge::Library&) {
        std::map<std::string, std::vector<const ReadCause*>> made;
        for (const auto& cause : read_causes())
            for (const auto& source : cause.from)
                for (const auto& each : source.codes)
                    made[each].push_back(&cause);
        return made;
    });
    const auto found = by_code.find(code);
    return found == by_code.end() ? kNone : found->second;
}

bool rests_on(std::string_view id, const std::string& code) {
    return std::ranges::any_of(causes_of(code),
                               [id](const ReadCause* cause) { return cause->row->id == id; });
}

}  // namespace

std::optional<std::string> fix_for(const std::vector<Finding>& findings,
                                   const std::string& gpu,
                                   std::string_view api,
                                   const Reason& reason) {
    const auto found = std::ranges::find_if(findings, [&](const Finding& finding) {
        const auto* of = finding.evidence.at("api").as_string();
        const auto& node = finding.evidence.at("node");
        return std::ranges::find(finding.gpus, gpu) != finding.gpus.end() && (!of || *of == api) &&
               (node.is_null() || node == reason.detail.at("node")) &&
               rests_on(finding.id, reason.code);
    });
    return found == findings.end() ? std::nullopt : found->fix;
}

std::optional<std::string> usual_fix(const Reason& reason) {
    const auto& causes = causes_of(reason.code);
    if (causes.empty())
        return std::nullopt;
    Report report;
    if (const auto* container = reason.detail.at("container").as_string())
        report.host.container = *container;
    const Surroundings unknown;
    const Examination examination{report, unknown};
    for (const auto* cause : causes)
        if (auto fix = examination.fix_of(*cause, reason.detail))
            return fix;
    return std::nullopt;
}

std::vector<Finding> examine(const Report& report, const Surroundings& surroundings) {
    return Examination{report, surroundings}.findings();
}

Severity gravest(const std::vector<Finding>& findings) {
    auto worst = Severity::Ok;
    for (const auto& finding : findings)
        worst = std::max(worst, finding.severity);
    return worst;
}

Status check_causes(std::string_view json) {
    Causes causes;
    TRY(causes.add(json));
    for (const auto& row : causes.all())
        if (auto cause = read_cause(row); !cause)
            return std::move(cause).error().in(row.id);
    return Done{};
}

std::vector<std::string> problems_of_causes() {
    std::vector<std::string> problems;
    for (const auto& document : knowledge::builtin_causes())
        if (const auto checked = check_causes(document.json); !checked)
            problems.push_back(std::string{document.name} + ": " + checked.error().text);
    return problems;
}

}  // namespace gpuprobe::inline explain
