// SPDX-License-Identifier: Apache-2.0
#include "explain/doctor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "explain/driver_choice.h"
#include "explain/explain.h"
#include "explain/place.h"
#include "policy/causes.h"
#include "policy/environment.h"
#include "policy/fact.h"
#include "policy/known_bad.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/outcome.h"

namespace gpuprobe::inline explain {
namespace {

/// A reason from an API, with the name of the API, its driver and the output of the worker added to
/// the detail.
Value api_reason(std::string_view api,
                 const Value& driver,
                 const Value& reasons,
                 const Value& reason) {
    auto detail = reason.at("detail");
    detail["api"] = Value{api};
    if (word_of(detail.at("driver")).empty())
        detail["driver"] = word_of(driver).empty() ? Value{} : driver;
    for (const auto& other : *reasons.as_array())
        if (other.at("code") == Value{"worker-output"} && detail.at("output").is_null())
            detail["output"] = other.at("detail").at("lines");
    return Value{Value::Object{{"code", reason.at("code")}, {"detail", std::move(detail)}}};
}

/// All reasons that concern a GPU, from its APIs and from failed verifications. Display-only GPUs
/// and GPUs without a driver have no reasons from APIs.
Value api_reasons_of(const Gpu& gpu, const Value& value) {
    Value all{Value::Array{}};
    if (gpu.kind == GpuKind::DisplayOnly || has_reason_with(gpu.findings, ReasonTraits::Unserved))
        return all;
    const auto& apis = value.at("apis");
    const auto add = [&](std::string_view api, const Value& reasons) {
        for (const auto& reason : *reasons.as_array())
            all.push_back(api_reason(api, apis.at(api).at("driver"), reasons, reason));
    };
    for (const auto& api : *apis.as_object())
        add(api.key, api.value.at("reasons"));
    for (const auto& [backend, view] : gpu.backends)
        if (view.verification)
            add(api_below(backend),
                value.at("backends").at(backend).at("verification").at("reasons"));
    return all;
}

/// Adds an APU's limit of host memory (GTT): the limit in percent of the host's memory, whether the
/// limit is larger than the memory that the firmware reserved, and the kernel parameter that raises
/// the limit to three quarters of the host's memory, in whole GiB. The module is amdttm instead of
/// ttm if amdgpu is from AMD's packages.
void add_shared_memory(const Gpu& gpu, const Host& host, Value& value) {
    constexpr std::uint64_t kPagesOfGib = gib(1).count / kib(4).count;
    const auto& readings = gpu.memory.evidence;
    const auto gtt = std::ranges::find(readings, "gtt-total", &MemoryReading::what);
    if (gtt == readings.end() || !host.memory.total)
        return;
    const auto total = host.memory.total->count;
    const auto most = total / 4 * 3 / gib(1).count;
    const auto loaded = host.setup ? host.setup->loaded : std::nullopt;
    const std::string module =
        loaded && std::ranges::count(*loaded, "amdttm") > 0 ? "amdttm" : "ttm";
    // The sentences of causes show these numbers, which are computed here because terms cannot
    // calculate.
    value["gtt"]["total"] = to_value(gtt->bytes);
    value["gtt"]["of_gib"] = Value{total / gib(1).count};
    value["gtt"]["percent"] = Value{gtt->bytes.count / (total / 100 + 1)};
    value["gtt"]["larger"] = gtt->bytes > gpu.memory.physical.value_or(Bytes{});
    value["gtt"]["most"] = to_value(gib(most));
    value["gtt"]["word"] = Value{module + ".pages_limit=" + std::to_string(most * kPagesOfGib)};
}

/// Removes slowdowns that are too old to describe the present.
void forget_the_past(const Power& power, WallTime now, Value& value) {
    constexpr Duration kMoment = std::chrono::minutes{5};
    if (power.slowdowns_at && now - *power.slowdowns_at > kMoment)
        value["power"]["slowdowns"] = Value{};
}

/// The names of the kernel's taint bits that are relevant to a driver's state. Source:
/// torvalds/linux@v6.12, Documentation/admin-guide/tainted-kernels.rst.
Value taints_of(std::uint64_t bits) {
    constexpr auto kTaints =
        std::to_array<std::pair<unsigned, std::string_view>>({{4, "machine-check"}, {7, "died"}});
    Value words{Value::Array{}};
    for (const auto& [bit, word] : kTaints)
        if ((bits >> bit & 1U) != 0)
            words.push_back(Value{word});
    return words;
}

}  // namespace

Value examined(const Report& report, const Surroundings& surroundings, const Place& place) {
    Value roots{Value::Object{}};
    roots["report"] = to_value(report);
    const auto now = surroundings.at ? surroundings.at : report.created;
    auto& gpus = roots["report"]["gpus"];
    // Add derived members to each GPU.
    for (std::size_t i = 0; i < report.gpus.size(); ++i) {
        auto& gpu = (*gpus.as_array())[i];
        gpu["said"] = api_reasons_of(report.gpus[i], gpu);
        add_derived_members(report.gpus[i], report, gpu);
        add_shared_memory(report.gpus[i], report.host, gpu);
        if (now)
            forget_the_past(report.gpus[i].power, *now, gpu);
    }
    roots["host"] = roots.at("report").at("host");
    if (report.host.setup && report.host.setup->tainted)
        roots["host"]["setup"]["taints"] = taints_of(*report.host.setup->tainted);
    roots["here"] = to_value(surroundings);
    for (std::size_t i = 0; i < report.gpus.size(); ++i)
        if (auto hidden = hiding(surroundings.environment, report.gpus[i], report); !hidden.empty())
            (*roots["report"]["gpus"].as_array())[i]["hidden"] = to_value(hidden);
    // Protections that this process should have but lacks.
    for (const auto word : confinement::kWanted)
        if (report.confinement &&
            std::ranges::none_of(*report.confinement, [word](const std::string& holds) {
                return holds.starts_with(word);
            }))
            roots["here"]["unconfined"].push_back(Value{word});
    roots["place"] = place.facts();
    for (const auto& api : kApis)
        if (!api.vendor.empty() && computes(api))
            roots["apis"][api.word]["vendor"] = Value{api.vendor};
    roots["variables"] = to_value(Causes::current().variables());
    return roots;
}

namespace {

/// A member of the evidence: the only value, or a list if there are several values.
Value shown(const std::vector<Evidence>& proof) {
    if (proof.empty())
        return {};
    if (proof.size() == 1)
        return *proof.front().value;
    Value list{Value::Array{}};
    for (const auto& one : proof)
        list.push_back(*one.value);
    return list;
}

/// The number of known members in the evidence.
std::ptrdiff_t fullness(const Value& evidence) {
    return std::ranges::count_if(*evidence.as_object(),
                                 [](const auto& member) { return !member.value.is_null(); });
}

/// The item as an object. If the item is a plain value, the value becomes the member `value`; if
/// the item is a member of an object, the member's name becomes `key`.
Value item_of(const Evidence& proof) {
    Value item =
        proof.value->is_object() ? *proof.value : Value{Value::Object{{"value", *proof.value}}};
    if (!proof.key.empty() && item.at("key").is_null())
        item["key"] = Value{proof.key};
    return item;
}

/// The device for which causes are evaluated. All members are unset for the machine itself; `gpu`
/// is unset for an accelerator.
struct Device {
    std::optional<std::string> id = {};
    const Gpu* gpu = nullptr;
    const Value* value = nullptr;
};

/// The fix of a finding; nullopt if nothing helps.
std::optional<Fix> fix_in(const Finding& finding) {
    return finding.fix ? std::optional{Fix{.text = *finding.fix, .commands = finding.commands}}
                       : std::nullopt;
}

/// Evaluates all causes on one report.
class Examination {
public:
    Examination(const Report& report, const Surroundings& surroundings)
        : Examination{report, report, surroundings} {}
    /// Examines `report`, but takes the GPUs for fixes from `machine`. For a usual fix, `report`
    /// contains only a few facts, because converting a whole report takes long.
    Examination(const Report& report, const Report& machine, const Surroundings& surroundings)
        : report_{report},
          machine_{machine},
          place_{machine, surroundings},
          roots_{examined(report, surroundings, place_)} {}
    Examination(const Report& report, const Surroundings&& surroundings) = delete;

    /// The fix for a cause with given evidence on a GPU of which only the id is known. The id ""
    /// means any GPU.
    [[nodiscard]] std::optional<Fix> fix_of(const Cause& cause,
                                            const Value& evidence,
                                            const std::string& gpu) const {
        const Facts facts{{.report = report_}};
        // No device is set here, so conditions can refer only to the roots and the evidence.
        const auto known = with_vendor(evidence, gpu);
        const TermContext context{.roots = &roots_, .facts = &facts, .evidence = &known};
        if (!all_hold(cause.when, context))
            return std::nullopt;
        const auto id = gpu.empty() ? std::nullopt : std::optional{gpu};
        return fix_in(finding_for(cause, known, {.id = id}, context));
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
    /// The evidence with the GPU's vendor added, unless the evidence names a vendor, because fixes
    /// may depend on the vendor.
    [[nodiscard]] Value with_vendor(Value evidence, const std::string& gpu) const {
        const auto found = std::ranges::find(machine_.gpus, gpu, &Gpu::id);
        if (found != machine_.gpus.end() && evidence.at("vendor").is_null())
            evidence["vendor"] = to_value(found->vendor);
        return evidence;
    }

    /// Evaluates all causes of one kind for one device and adds the findings that aren't explained
    /// by another finding.
    void examine_all(const Device& device, std::string_view kind) {
        const Facts facts{{.report = report_, .gpu = device.gpu}};
        const TermContext context{.roots = &roots_, .device = device.value, .facts = &facts};
        std::vector<Finding> own;
        // A cause replaces the causes that it explains (`instead_of`). If the cause is about an
        // API, it replaces only causes about the same API. Causes of the machine also replace
        // causes that concern its devices.
        auto explained = explained_;
        for (const auto& cause : Causes::current().all()) {
            // An `is_alone` cause is skipped if the device already has a warning or an error.
            const bool is_of = cause.of == kind || (device.id && cause.of == "device");
            if (!is_of || (cause.is_alone && gravest(own) >= Severity::Warning))
                continue;
            for (auto& evidence : evidence_of(cause, context)) {
                own.push_back(finding_for(cause, std::move(evidence), device, context));
                for (const auto& id : cause.instead_of)
                    explained.emplace(id, api_of(own.back()));
            }
        }
        for (auto& finding : own)
            // Filter only now, because a cause may explain a cause that was evaluated earlier.
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

    /// The items of evidence that meet the conditions of a cause, without duplicates. If
    /// several items have the same value in the member that the cause names in `once`, the item
    /// with the most known members is kept.
    static std::vector<Value> evidence_of(const Cause& cause, TermContext context) {
        std::vector<Value> found;
        for (auto& evidence : candidates(cause, context)) {
            context.evidence = &evidence;
            if (!all_hold(cause.when, context) ||
                std::ranges::any_of(cause.unless, [&](const Condition& condition) {
                    return holds(condition, context) == Truth::True;
                }))
                continue;
            // Keep only the shown members of an item, because the other members may be large.
            Value members = is_item(cause) ? Value{Value::Object{}} : evidence;
            for (const auto& [name, path] : cause.show)
                members[name] = shown(met_by(path, context));
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

    /// True if only the members that the cause shows are kept as evidence. A reason's detail is
    /// kept completely.
    static bool is_item(const Cause& cause) {
        if (cause.from.empty())
            return false;
        const auto& steps = cause.from.front().steps;
        return steps.empty() || steps.back().name != "detail";
    }

    /// The items that may be evidence: the values at the cause's paths, or one empty item if the
    /// cause has no paths.
    static std::vector<Value> candidates(const Cause& cause, const TermContext& context) {
        std::vector<Value> all;
        for (const auto& from : cause.from)
            for (const auto& proof : met_by(from, context))
                all.push_back(is_item(cause) ? item_of(proof) : *proof.value);
        if (cause.from.empty())
            all.push_back(Value{Value::Object{}});
        return all;
    }

    /// Makes the finding for a cause and its evidence, with the fix for this place.
    Finding finding_for(const Cause& cause,
                        Value evidence,
                        const Device& device,
                        TermContext context) const {
        // Containers need different fixes, so messages and conditions need the container's name.
        if (device.id && report_.host.container)
            evidence["container"] = *report_.host.container;
        context.evidence = &evidence;
        Finding finding{.id = cause.id, .severity = cause.severity, .gpu = device.id};
        if (device.id)
            finding.gpus = {*device.id};
        // Certain circumstances lower the severity of a finding.
        for (const auto& [at_most, conditions] : cause.eased)
            if (all_hold(conditions, context))
                finding.severity = std::min(finding.severity,
                                            enum_from<Severity>(at_most).value_or(cause.severity));
        // The first fix whose conditions hold and that is possible or has replacement advice. A fix
        // may also have its own sentence.
        const auto id = device.id.value_or("");
        const auto is_possible = [&](const Remedy& each) {
            return place_.is_possible(each, *context.evidence, id);
        };
        const auto remedy = std::ranges::find_if(cause.fixes, [&](const Remedy& each) {
            return all_hold(each.when, context) &&
                   (is_possible(each) || place_.instead_of(each, id));
        });
        const bool is_helped = remedy != cause.fixes.end();
        const bool has_other_advice = is_helped && !is_possible(*remedy);
        if (is_helped && remedy->case_name)
            evidence["case"] = *remedy->case_name;
        finding.evidence = std::move(evidence);
        // The sentence of the fix takes precedence over the sentence of the cause, which takes
        // precedence over the sentence of the reason.
        const auto& own = is_helped && remedy->text ? remedy->text : cause.text;
        finding.sentence = place_.sentence(own ? *own : sentence_of(cause.id), finding.evidence);
        if (has_other_advice)
            finding.fix = place_.instead_of(*remedy, id);
        else if (is_helped)
            add_fix(*remedy, finding);
        return finding;
    }

    /// Fills in the fix and its commands. A command with an unknown value is added only to the text
    /// of the fix. If a command is missing, the finding's commands are incomplete and therefore not
    /// safe for a script.
    void add_fix(const Remedy& remedy, Finding& finding) const {
        const auto gpu = finding.gpu.value_or("");
        auto fix = place_.fix(remedy.fix.value_or(""), finding.evidence, gpu);
        std::string_view between = fix.empty() ? "" : ": ";
        for (const auto& pattern : remedy.run) {
            auto shell = place_.command(pattern, finding.evidence, gpu);
            const auto words = shell ? *shell : place_.fix(pattern, finding.evidence, gpu);
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
    const Report& machine_;
    Place place_;
    Value roots_;
    /// Ids of causes that a cause of the machine explains, each with the API to which the
    /// explanation is limited ("" for any API).
    std::set<std::pair<std::string, std::string>> explained_ = {};
    std::vector<Finding> findings_ = {};
};

}  // namespace

namespace {

/// The ids of the GPUs that a reason is about; {""} if the reason names no GPU. A reason may name
/// GPUs, or partitions, in `where` and `also`.
std::vector<std::string> gpus_of(const Reason& reason, const ReasonPlace& place) {
    const auto* where = reason.detail.at("where").as_string();
    if (!place.gpu.empty() || !where)
        return {std::string{whole_id(place.gpu)}};
    std::vector<std::string> gpus;
    (void)read_value(reason.detail.at("also"), gpus);
    gpus.insert(gpus.begin(), *where);
    for (auto& gpu : gpus)
        gpu = std::string{whole_id(gpu)};
    return gpus;
}

/// The fix of the finding about `gpu` on which the reason is based.
std::optional<Fix> found_fix_on(const std::string& gpu,
                                const Reason& reason,
                                const ReasonPlace& place) {
    const auto causes = Causes::current().resting_on(reason.code);
    const auto& named = reason.detail.at("node");
    const auto cause = word_of(reason.detail.at("cause"));
    const auto is_about = [&](const Finding& finding) {
        const auto* api = finding.evidence.at("api").as_string();
        const auto& node = finding.evidence.at("node");
        return (gpu.empty() || std::ranges::count(finding.gpus, gpu) > 0) &&
               (!api || place.api.empty() || *api == place.api) &&
               (node.is_null() || named.is_null() || node == named) &&
               (cause.empty() || cause == finding.id) &&
               std::ranges::find(causes, finding.id, &Cause::id) != causes.end();
    };
    // If `place` contains a GPU and an API, it identifies a single finding.
    const auto is_certain = [&](const Finding& finding) {
        return !gpu.empty() && (!place.api.empty() || finding.evidence.at("api").is_null());
    };
    const Finding* first = nullptr;
    for (const auto& finding : *place.findings) {
        if (!is_about(finding))
            continue;
        if (is_certain(finding))
            return fix_in(finding);
        // If two findings have different fixes, it is unclear which finding matches the reason.
        if (first && first->fix != finding.fix)
            return std::nullopt;
        first = &finding;
    }
    return first ? fix_in(*first) : std::nullopt;
}

}  // namespace

std::optional<Fix> found_fix(const Reason& reason, const ReasonPlace& place) {
    for (const auto& gpu : gpus_of(reason, place))
        if (auto fix = found_fix_on(gpu, reason, place))
            return fix;
    return std::nullopt;
}

std::optional<Fix> usual_fix(const Reason& reason, const ReasonPlace& place) {
    auto causes = Causes::current().resting_on(reason.code);
    if (place.findings)
        // The doctor has evaluated the other causes, and their conditions do not hold.
        std::erase_if(causes, [](const Cause* cause) { return cause->of != kOfAReason; });
    // Only the cause that the reason names can provide the fix.
    if (const auto named = word_of(reason.detail.at("cause")); !named.empty())
        std::erase_if(causes, [&named](const Cause* cause) { return cause->id != named; });
    if (causes.empty())
        return std::nullopt;
    Report report;
    if (place.machine)
        report.host = place.machine->host;
    else if (const auto* container = reason.detail.at("container").as_string())
        report.host.container = *container;
    const Surroundings here{.is_root = place.is_root};
    const Examination examination{report, place.machine ? *place.machine : report, here};
    for (const auto* cause : causes)
        if (auto fix = examination.fix_of(*cause, reason.detail, gpus_of(reason, place).front()))
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
