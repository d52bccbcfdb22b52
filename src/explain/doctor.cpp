// SPDX-License-Identifier: Apache-2.0
#include "explain/doctor.h"

#include <algorithm>
#include <functional>

#include "base/parse.h"
#include "explain/cause_terms.h"
#include "explain/explain.h"
#include "explain/place.h"
#include "explain/shell_quote.h"
#include "knowledge/causes.h"
#include "report/api_table.h"
#include "report/confinement.h"

namespace gpuprobe {
namespace {

using knowledge::Cause;
using knowledge::Causes;
using knowledge::Remedy;

/// Where a cause finds its evidence: reasons of some codes ("said driver-crashed|driver-failed"),
/// or a path.
struct Source {
    enum class Kind { Findings, Said, Judged, Notes, Path } kind = Kind::Path;
    std::vector<std::string> codes = {};
    Path path = {};
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
    using enum Source::Kind;
    constexpr auto kKinds = std::to_array<std::pair<std::string_view, Source::Kind>>(
        {{"finding ", Findings}, {"said ", Said}, {"judged ", Judged}, {"note ", Notes}});
    for (const auto& [word, kind] : kKinds) {
        if (!text.starts_with(word))
            continue;
        Source source{.kind = kind};
        for (const auto code : split(text.substr(word.size()), '|'))
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
    static const auto read = [] {
        std::vector<ReadCause> causes;
        for (const auto& row : Causes::current().all())
            if (auto cause = read_cause(row))  // one that is malformed is a bug that a test finds
                causes.push_back(std::move(cause).value());
        return causes;
    }();
    return read;
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

/// How many members are known.
std::ptrdiff_t fullness(const Value& evidence) {
    return std::ranges::count_if(*evidence.as_object(),
                                 [](const auto& member) { return !member.value.is_null(); });
}

Value of_api(const std::string& api, const ApiView& view, const Reason& reason) {
    auto evidence = reason.detail;
    evidence["api"] = api;
    if (evidence.at("driver").is_null() || evidence.at("driver") == Value{""})
        evidence["driver"] = view.driver && !view.driver->empty() ? Value{*view.driver} : Value{};
    const auto output = std::ranges::find_if(
        view.reasons, [](const Reason& other) { return other.is("worker-output"); });
    if (output != view.reasons.end())
        evidence["output"] = output->detail.at("lines");
    return evidence;
}

/// A GPU or an accelerator, as far as causes ask.
struct Device {
    std::string id = {};
    const Gpu* gpu = nullptr;
    const std::vector<Reason>* findings = nullptr;
    Value value = {};
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

    std::vector<Finding> findings() {
        examine_all(nullptr, "machine");
        for (const auto& gpu : report_.gpus)
            examine_device(
                {.id = gpu.id, .gpu = &gpu, .findings = &gpu.findings, .value = to_value(gpu)},
                "gpu");
        for (const auto& accelerator : report_.accelerators)
            examine_device({.id = accelerator.id,
                            .findings = &accelerator.findings,
                            .value = to_value(accelerator)},
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
        here["kernel_log"] = to_value(surroundings.kernel_log);
        for (const auto word : confinement::kWanted)
            if (report_.confinement &&
                std::ranges::none_of(*report_.confinement, [word](const std::string& holds) {
                    return holds.starts_with(word);
                }))
                here["unconfined"].push_back(Value{word});
        return here;
    }

    void examine_device(const Device& device, std::string_view kind) {
        begin_ = findings_.size();
        examine_all(&device, kind);
        for (auto i = begin_; i < findings_.size(); ++i)
            findings_[i].gpu = device.id;
        merge(begin_);
    }

    void examine_all(const Device* device, std::string_view kind) {
        const Facts facts{{.report = report_, .gpu = device ? device->gpu : nullptr}};
        const TermRoots roots{.report = &value_,
                              .device = device ? &device->value : nullptr,
                              .more = &more_,
                              .facts = &facts};
        for (const auto& cause : read_causes())
            if (cause.row->of == kind || (device && cause.row->of == "device"))
                examine_one(cause, device, roots);
    }

    void examine_one(const ReadCause& cause, const Device* device, const TermRoots& roots) {
        const bool is_explained =
            std::any_of(findings_.begin() + static_cast<long>(begin_), findings_.end(),
                        [](const Finding& other) { return other.severity >= Severity::Warning; });
        if (cause.row->is_alone && is_explained)
            return;
        std::vector<Value> found;
        for (auto& evidence : evidence_of(cause, device, roots))
            add_once(std::move(evidence), cause, roots, found);
        for (auto& evidence : found)
            findings_.push_back(told(cause, std::move(evidence), device, roots));
    }

    /// Of several with the same `once` the fullest is kept.
    void add_once(Value evidence,
                  const ReadCause& cause,
                  const TermRoots& roots,
                  std::vector<Value>& found) const {
        const auto is_true = [&](const Condition& condition) {
            return holds(condition, roots, evidence) == Truth::True;
        };
        if (!std::ranges::all_of(cause.when, is_true) || std::ranges::any_of(cause.unless, is_true))
            return;
        const bool is_item = !cause.from.empty() && cause.from.front().kind == Source::Kind::Path;
        Value members = is_item && !cause.show.empty() ? Value{Value::Object{}} : evidence;
        for (const auto& [name, path, text] : cause.show)
            members[name] = text ? Value{*text} : shown(met_by(path, roots, evidence));
        const auto same = std::ranges::find_if(found, [&](const Value& other) {
            return cause.row->once ? other.at(*cause.row->once) == members.at(*cause.row->once)
                                   : other == members;
        });
        if (same == found.end())
            found.push_back(std::move(members));
        else if (fullness(members) > fullness(*same))
            *same = std::move(members);
    }

    std::vector<Value> evidence_of(const ReadCause& cause,
                                   const Device* device,
                                   const TermRoots& roots) const {
        if (cause.from.empty())
            return {Value{Value::Object{}}};
        std::vector<Value> all;
        for (const auto& source : cause.from)
            add_from(source, device, roots, all);
        return all;
    }

    void add_from(const Source& source,
                  const Device* device,
                  const TermRoots& roots,
                  std::vector<Value>& all) const {
        using enum Source::Kind;
        const auto is_meant = [&source](const Reason& reason) {
            return std::ranges::find(source.codes, reason.code) != source.codes.end();
        };
        const auto add = [&](const std::vector<Reason>& reasons) {
            for (const auto& reason : reasons)
                if (is_meant(reason))
                    all.push_back(reason.detail);
        };
        if (source.kind == Path)
            for (const auto& met : met_by(source.path, roots, {}))
                all.push_back(item_of(met));
        else if (source.kind == Notes)
            add(report_.notes);
        else if (source.kind == Findings && device)
            add(*device->findings);
        else if (device && device->gpu && source.kind == Judged)
            for (const auto& [name, backend] : device->gpu->backends)
                add(backend.reasons);
        else if (device && device->gpu && is_served(*device->gpu))
            for (const auto& [api, view] : device->gpu->apis)
                for (const auto& reason : view.reasons)
                    if (is_meant(reason))
                        all.push_back(of_api(api, view, reason));
    }

    static Value item_of(const Met& met) {
        Value item =
            met.value->is_object() ? *met.value : Value{Value::Object{{"value", *met.value}}};
        if (!met.key.empty() && item.at("key").is_null())
            item["key"] = Value{met.key};
        return item;
    }

    /// A GPU that only shows pictures, and one that no driver serves here, misses nothing.
    static bool is_served(const Gpu& gpu) {
        return gpu.kind != GpuKind::DisplayOnly &&
               !has_reason_with(gpu.findings, ReasonTraits::Unserved);
    }

    Finding told(const ReadCause& cause,
                 Value evidence,
                 const Device* device,
                 const TermRoots& roots) const {
        if (device && report_.host.container)
            evidence["container"] = *report_.host.container;
        const bool is_eased = !cause.eased.empty() &&
                              std::ranges::all_of(cause.eased, [&](const Condition& condition) {
                                  return holds(condition, roots, evidence) == Truth::True;
                              });
        const Remedy* remedy = nullptr;
        for (std::size_t i = 0; !remedy && i < cause.fixes.size(); ++i)
            if (std::ranges::all_of(cause.fixes[i], [&](const Condition& condition) {
                    return holds(condition, roots, evidence) == Truth::True;
                }))
                remedy = &cause.row->fixes[i];
        if (remedy && remedy->case_name)
            evidence["case"] = *remedy->case_name;
        Finding finding{
            .id = cause.row->id, .severity = cause.severity, .evidence = std::move(evidence)};
        if (is_eased)
            finding.severity = std::min(finding.severity, Severity::Warning);
        if (device && device->gpu)
            finding.severity = tempered(finding, *device->gpu);
        if (device)
            finding.gpus = {device->id};
        const auto& text = remedy && remedy->text ? *remedy->text : cause.row->text;
        finding.sentence = filled(text, lookup(finding.evidence, &Place::install_words));
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
    [[nodiscard]] WordLookup lookup(const Value& evidence,
                                    std::string (Place::*install)(const std::string&) const) const {
        return [this, &evidence, install](std::string_view word) -> std::optional<std::string> {
            const auto colon = std::min(word.find(':'), word.size());
            const auto name = word.substr(0, colon);
            const std::string of{word.substr(std::min(colon + 1, word.size()))};
            const auto object = detail_word(evidence, of);
            if (name == "install")
                return (place_.*install)(of);
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
        const auto words = lookup(evidence, &Place::install_words);
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
        const auto words = lookup(finding.evidence, &Place::install_words);
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

    /// What is the same for a device before it is told there.
    void merge(std::size_t begin) {
        for (auto i = begin; i < findings_.size();) {
            auto& later = findings_[i];
            const auto earlier =
                std::find_if(findings_.begin(), findings_.begin() + static_cast<long>(begin),
                             [&later](const Finding& other) { return is_same(other, later); });
            if (earlier == findings_.begin() + static_cast<long>(begin)) {
                ++i;
                continue;
            }
            earlier->gpus.push_back(later.gpus.front());
            findings_.erase(findings_.begin() + static_cast<long>(i));
        }
    }

    static bool is_same(const Finding& left, const Finding& right) {
        return left.gpu && left.id == right.id && left.severity == right.severity &&
               left.evidence == right.evidence && left.fix == right.fix &&
               left.sentence == right.sentence;
    }

    const Report& report_;
    Place place_;
    Value value_;
    Value more_{Value::Object{}};
    std::vector<Finding> findings_ = {};
    std::size_t begin_ = 0;  ///< of the device's own
};

/// Whether a cause of that id rests on reasons of that code.
bool rests_on(std::string_view id, std::string_view code) {
    return std::ranges::any_of(read_causes(), [&](const ReadCause& cause) {
        return cause.row->id == id && std::ranges::any_of(cause.from, [&](const Source& source) {
                   return std::ranges::find(source.codes, code) != source.codes.end();
               });
    });
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

std::vector<Finding> examine(const Report& report, const Surroundings& surroundings) {
    return Examination{report, surroundings}.findings();
}

Severity gravest(const std::vector<Finding>& findings) {
    auto worst = Severity::Ok;
    for (const auto& finding : findings)
        worst = std::max(worst, finding.severity);
    return worst;
}

std::vector<std::string> problems_of_causes() {
    std::vector<std::string> problems;
    for (const auto& document : builtin_causes())
        if (const auto added = Causes{}.add(document.json); !added)
            problems.push_back(std::string{document.name} + ": " + added.error().text);
    for (const auto& row : Causes::current().all())
        if (const auto cause = read_cause(row); !cause)
            problems.push_back(row.id + ": " + cause.error().text);
    return problems;
}

}  // namespace gpuprobe
