// SPDX-License-Identifier: Apache-2.0
#include "explain/explain.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"
#include "base/value.h"
#include "explain/doctor.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/wording_table.h"
#include "policy/fact.h"
#include "policy/term.h"
#include "report/api_table.h"

namespace gpuprobe::inline explain {
namespace {

/// The formatted value (for a list, the values separated by commas); nullopt if a value isn't safe
/// as a word of a command.
std::optional<std::string> written(const Value& value, ValueForm form) {
    if (const auto* items = value.as_array()) {
        std::vector<std::string> texts;
        for (const auto& item : *items) {
            auto text = written(item, form);
            if (!text)
                return std::nullopt;
            texts.push_back(std::move(*text));
        }
        return joined(texts, ", ");
    }
    const auto* text = value.as_string();
    const auto whole = text ? *text : json_line(value);
    // Numbers and booleans are always safe in a command.
    const bool may_be_anything = text || value.is_object();
    // In a command, a string that isn't safe as a word makes the whole value unknown.
    if (form == ValueForm::CommandWord && may_be_anything)
        return command_word(whole);
    return scrubbed(whole);
}

/// The message for a reason without a wording, in the form "code (key=value, …)".
std::string unworded(const Reason& reason) {
    std::string details;
    if (const auto* members = reason.detail.as_object())
        for (const auto& member : *members)
            details += (details.empty() ? "" : ", ") + scrubbed(member.key) + "=" +
                       written(member.value, ValueForm::Prose).value_or("");
    return scrubbed(reason.code) + (details.empty() ? "" : " (" + details + ")");
}

/// The wording for a code; nullptr for an unknown code.
const Wording* find_wording(std::string_view code) {
    for (const auto& wording : kWordings)
        if (wording.code == code)
            return &wording;
    return nullptr;
}

/// The unknown fact that a reason is about.
struct OpenFact {
    const UnknownFact* words = nullptr;
    Value want = {};
    bool is_of_host = false;
};

/// Returns nullopt for other reasons, alternatives of several facts, and facts without a message.
std::optional<OpenFact> open_fact(const Reason& reason) {
    OpenFact open{.want = reason.detail.at("want")};
    const auto* key = reason.is("fact-unknown") ? reason.detail.at("fact").as_string() : nullptr;
    std::string name = key ? *key : "";
    if (const auto* text = reason.detail.at("requirement").as_string();
        text && reason.is("requirement-unknown")) {
        const auto [terms, takes_doubt] = alternatives_of(*text);
        const bool is_one = terms.size() == 1 && !takes_doubt;
        if (!is_one || (terms.front().sign != "=" && terms.front().sign != ">="))
            return std::nullopt;
        name = terms.front().name;
        open.want = to_value(std::vector<std::string>{});
        for (const auto value : split(terms.front().value, '|'))
            open.want.push_back(Value{std::string{value}});
    }
    const auto* words = std::ranges::find(kUnknownFacts, name, &UnknownFact::fact);
    if (words == std::end(kUnknownFacts))
        return std::nullopt;
    open.words = words;
    open.is_of_host = std::ranges::any_of(fact_rows(), [&name](const FactRow& row) {
        return row.key == name && row.scope == FactScope::Host;
    });
    return open;
}

/// The place that a reason names, such as a GPU's id or a node; "" if the reason names no place.
std::string where_of(const Reason& reason) {
    const auto* place = reason.detail.at("where").as_string();
    return place ? *place : std::string{};
}

/// The ids of the GPUs that the reason is about.
std::vector<std::string> gpus_in(const Reason& reason) {
    std::vector<std::string> ids;
    (void)read_value(reason.detail.at("also"), ids);
    if (auto gpu = where_of(reason); gpu.find(':') != std::string::npos)
        ids.push_back(std::move(gpu));
    return ids;
}

/// The ids of the GPUs whose vendor differs from the variant's vendor, according to `reasons`.
std::set<std::string> gpus_of_others(const std::vector<Reason>& reasons) {
    std::set<std::string> found;
    for (const auto& reason : reasons)
        if (reason.is("vendor-mismatch"))
            found.insert(where_of(reason));
    return found;
}

/// True if the reason says that the variant itself is for the GPUs of another vendor. The report
/// may have the same reason for the backend, with the vendor that the backend needs.
bool is_vendor_mismatch_of_variant(const Reason& reason) {
    return reason.is("vendor-mismatch") && reason.detail.at("needs").is_null();
}

/// True for a reason in the report that leaves open whether the API works, because the API was not
/// probed or did not answer.
bool is_silence(const Reason& reason) {
    const auto* row = find_reason(reason.code);
    return row && row->effect == ReasonEffect::LeavesOpen &&
           includes(row->places, ReasonPlaces::OnView);
}

/// True for reasons that rule out the GPU or the variant.
bool ends(const Reason& reason) {
    const auto* row = find_reason(reason.code);
    return row && row->effect == ReasonEffect::Ends;
}

/// True for an unknown fact about a GPU. (Only ids of GPUs contain a colon.)
bool is_unknown_of_gpu(const Reason& reason) {
    return reason.is("memory-unknown") ||
           (reason.is("fact-unknown") && where_of(reason).find(':') != std::string::npos);
}

/// True if both reasons are about the same alternative among the requirements and about the same
/// GPU. If the first reason is about all GPUs, only the alternative is compared.
bool is_about_the_same(const Reason& other, const Reason& unknown) {
    const auto& route = other.detail.at("alternative");
    return (where_of(other).empty() || where_of(other) == where_of(unknown)) &&
           (route.is_null() || route == unknown.detail.at("alternative"));
}

/// True for a reason that no fix on this machine removes: the build or the request excludes the GPU
/// or the host.
bool is_final(const Reason& reason) {
    return ends(reason) &&
           (reason.is("not-built") || has_trait(reason.code, ReasonTraits::ByNature) ||
            has_trait(reason.code, ReasonTraits::ByBuild) ||
            has_trait(reason.code, ReasonTraits::Wished));
}

/// True if a final reason rules out every GPU that the reasons name.
bool is_final_for_all_gpus(const std::vector<Reason>& reasons) {
    std::set<std::string> open;
    std::set<std::string> closed;
    for (const auto& reason : reasons)
        if (const auto gpu = where_of(reason); gpu.find(':') != std::string::npos)
            (is_final(reason) ? closed : open).insert(gpu);
    for (const auto& gpu : closed)
        open.erase(gpu);
    return open.empty() && !closed.empty();
}

/// True if the reason follows from another reason. Facts are unknown if the API gave no answer, but
/// unknown facts do not matter if the GPU, or every GPU, is ruled out anyway.
bool follows(const Reason& reason, const std::vector<Reason>& reasons) {
    if (reason.is("unknown-not-chosen"))
        return std::ranges::any_of(reasons, is_silence);
    const auto is_open = [](const Reason& one, const char* fact) {
        return one.is("fact-unknown") && one.detail.at("fact") == Value{fact};
    };
    // A variant that requires a version of glibc also requires glibc as the C library.
    if (is_open(reason, "libc") &&
        std::ranges::any_of(reasons, [&](const Reason& other) { return is_open(other, "glibc"); }))
        return true;
    if (reason.is("fact-unknown") && where_of(reason) == "host")
        return is_final_for_all_gpus(reasons);
    return is_unknown_of_gpu(reason) &&
           std::ranges::any_of(reasons, [&reason](const Reason& other) {
               return (is_silence(other) || ends(other)) && is_about_the_same(other, reason);
           });
}

/// Removes redundant reasons: keeps one reason for each GPU from another vendor, and no reason that
/// follows from another reason. If no reason would be left, returns all reasons.
std::vector<Reason> worth_showing(const std::vector<Reason>& reasons) {
    const auto of_others = gpus_of_others(reasons);
    std::vector<Reason> kept;
    for (const auto& reason : reasons)
        if ((!of_others.contains(where_of(reason)) || is_vendor_mismatch_of_variant(reason)) &&
            !follows(reason, reasons))
            kept.push_back(reason);
    return kept.empty() ? reasons : kept;
}

/// True if the manifest's note should be shown, because a note is better advice on missing
/// libraries than a list of sonames.
bool note_helps(const VariantCandidate& candidate) {
    return candidate.note &&
           std::ranges::any_of(candidate.reasons, [&candidate](const Reason& reason) {
               return reason.is("library-missing") && is_worth_a_fix(reason, candidate.reasons);
           });
}

/// The message for an accepted variant.
std::string where_it_runs(const VariantCandidate& candidate) {
    const auto& gpus = candidate.gpus;
    return gpus.empty() ? "can be used"
                        : phrase("runs on {gpus}", {{"gpus", first_and_more(gpus)}});
}

/// The message for the reasons that a reason contains; if `is_fix` is true, the first fix for these
/// reasons.
std::optional<std::string> explained_within(const Value& member,
                                            const ReasonPlace& place,
                                            bool is_fix) {
    std::vector<Reason> reasons;
    if (!read_value(member, reasons).empty())
        return std::nullopt;
    auto why = explained(worth_showing(reasons), place);
    if (!is_fix)
        return std::move(why.text);
    return why.fixes.empty() ? std::nullopt : std::optional{std::move(why.fixes.front())};
}

/// The context for the reasons that an outer reason contains; these reasons are about the GPU that
/// the outer reason names.
ReasonPlace within(const Value& detail, ReasonPlace place) {
    if (const auto* gpu = detail.at("gpu").as_string(); gpu && place.gpu.empty())
        place.gpu = *gpu;
    return place;
}

/// The commands of the first fix for the reasons that a reason contains.
std::vector<std::string> commands_within(const Reason& reason, const ReasonPlace& place) {
    std::vector<Reason> reasons;
    if (!read_value(reason.detail.at("reasons"), reasons).empty())
        return {};
    for (const auto& inner : worth_showing(reasons))
        if (auto why = explained(inner, within(reason.detail, place)); why.fix)
            return std::move(why.commands);
    return {};
}

/// The fix in a wording; nullopt if the wording has no fix. `text` is the fix, with all
/// placeholders filled in.
std::optional<Fix> worded_fix(const Wording& wording,
                              std::string text,
                              const Reason& reason,
                              const ReasonPlace& place) {
    constexpr std::string_view kOfInnerReasons = ":fix}";
    if (!wording.command.empty()) {
        const std::string command{wording.command};
        return Fix{.text = text.empty() ? command : text + ": " + command, .commands = {command}};
    }
    if (text.empty())
        return std::nullopt;
    const bool is_inner = wording.fix.find(kOfInnerReasons) != std::string_view::npos;
    return Fix{.text = std::move(text),
               .commands = is_inner ? commands_within(reason, place) : std::vector<std::string>{}};
}

}  // namespace

std::optional<std::string> detail_word(const Value& detail,
                                       std::string_view placeholder,
                                       const ReasonPlace& place,
                                       ValueForm form) {
    const auto colon = std::min(placeholder.find(':'), placeholder.size());
    const auto& member = detail.at(placeholder.substr(0, colon));
    const auto format = placeholder.substr(std::min(colon + 1, placeholder.size()));
    if (member.is_null())
        return std::nullopt;
    // The strings are from gpuprobe's tables; values in fixes are already formatted for commands.
    if (format == "fix")
        return explained_within(member, within(detail, place), true);
    if (format == "why" && form == ValueForm::Prose)
        return explained_within(member, within(detail, place), false);
    // A format that does not match the value's type is ignored.
    if (const auto bytes = member.as_unsigned(); bytes && format == "size")
        return size_text(Bytes{*bytes});
    if (const auto rate = member.as_double(); rate && format == "rate")
        return rate_text(*rate);
    if (const auto number = member.as_int(); number && format == "time")
        return time_text(WallTime{Duration{*number}});
    const auto* word = member.as_string();
    if (const auto harm = word && format == "harm" ? enum_from<Harm>(*word) : std::nullopt)
        return harm_words(*harm,
                          static_cast<std::uint32_t>(detail.at("times").as_unsigned().value_or(1)));
    if (word && format == "number")  // "3" of /dev/nvidia3
        return word->substr(word->find_last_not_of("0123456789") + 1);
    if (word && format == "vendor")
        return written(Value{vendor_title(*word)}, form);
    return written(member, form);
}

std::string filled(std::string_view pattern, const Value& detail) {
    return filled_sentence(pattern, [&detail](std::string_view placeholder) {
        return detail_word(detail, placeholder);
    });
}

void add_once(std::vector<std::string>& items, const std::string& item) {
    if (std::ranges::find(items, item) == items.end())
        items.push_back(item);
}

std::string_view sentence_of(std::string_view code) {
    const auto* wording = find_wording(code);
    return wording ? wording->sentence : std::string_view{};
}

bool is_worth_a_fix(const Reason& reason, const std::vector<Reason>& all) {
    const bool is_for_others = std::ranges::any_of(all, [&reason](const Reason& other) {
        return has_trait(other.code, ReasonTraits::ByNature) && is_about_the_same(other, reason);
    });
    if (is_final(reason))
        return !is_for_others;
    const bool is_closed = std::ranges::any_of(all, [&reason](const Reason& other) {
        return is_final(other) && is_about_the_same(other, reason);
    });
    return !is_closed &&
           !(where_of(reason).find(':') == std::string::npos && is_final_for_all_gpus(all));
}

Explained explained(const Reason& reason, const ReasonPlace& place) {
    const auto* wording = find_wording(reason.code);
    // Codes of newer data files and daemons have no wording in this version.
    if (!wording)
        return {.text = unworded(reason)};
    const auto open = open_fact(reason);
    auto detail = open ? reason.detail : Value{};
    if (open)
        detail["want"] = open->want;
    const auto words = [&](std::string_view pattern, ValueForm form) {
        return filled_sentence(pattern, [&](std::string_view placeholder) {
            return detail_word(open ? detail : reason.detail, placeholder, place, form);
        });
    };
    // The most specific fix comes first: the fix for this machine, then the fix for this code, then
    // the usual fix.
    std::optional<Fix> fix = place.findings ? found_fix(reason, place) : std::nullopt;
    // A probe does not find facts about the host, so do not advise a probe.
    if (open && open->is_of_host && !open->words->fix.empty())
        fix = Fix{.text = std::string{open->words->fix}};
    else if (!fix && !(open && open->is_of_host))
        fix = worded_fix(*wording, words(wording->fix, ValueForm::CommandWord), reason, place);
    if (!fix)
        fix = usual_fix(reason, place);
    Explained explained{
        .text = words(open ? open->words->sentence : wording->sentence, ValueForm::Prose)};
    if (fix) {
        explained.fix = std::move(fix->text);
        explained.commands = std::move(fix->commands);
    }
    return explained;
}

ExplainedList explained(const std::vector<Reason>& reasons, const ReasonPlace& place) {
    ExplainedList all;
    // Several GPUs often have the same reason, and several reasons often have the same fix.
    std::vector<std::string> texts;
    std::map<std::string, std::set<std::string>> gpus_of;
    std::set<std::string> gpus;
    for (const auto& reason : reasons) {
        const auto one = explained(reason, place);
        add_once(texts, one.text);
        for (const auto& gpu : gpus_in(reason)) {
            gpus_of[one.text].insert(gpu);
            gpus.insert(gpu);
        }
        if (one.fix && is_worth_a_fix(reason, reasons))
            add_once(all.fixes, *one.fix);
    }
    // A message about some of the GPUs, but not all of them, names these GPUs.
    for (auto& text : texts)
        if (const auto& named = gpus_of[text]; !named.empty() && named.size() < gpus.size())
            text = phrase(
                "{gpus}: {text}",
                {{"gpus", joined(std::vector<std::string>{named.begin(), named.end()}, ", ")},
                 {"text", text}});
    all.text = joined(texts, "; ");
    return all;
}

namespace {

std::optional<std::string> scrubbed_or_none(const std::optional<std::string>& text) {
    return text ? std::optional{scrubbed(*text)} : std::nullopt;
}

}  // namespace

ExplainedList explained(const Candidate& candidate, ReasonPlace place) {
    // Fixes are looked up for the candidate's GPU and API.
    place.gpu = candidate.gpu.value_or("");
    place.api = api_below(candidate.backend);
    auto why = explained(worth_showing(candidate.reasons), place);
    if (candidate.verdict == Verdict::Uncertain && !why.text.empty())
        why.text = "can probably be used: " + why.text;
    if (why.text.empty())
        why.text = is_usable(candidate.verdict)
                       ? phrase("can be used[ by the published build {variant}]",
                                {{"variant", scrubbed_or_none(candidate.variant)}})
                       : std::string{name_of(candidate.verdict)};
    return why;
}

ExplainedList explained(const VariantCandidate& candidate, const ReasonPlace& place) {
    if (candidate.verdict == Verdict::Accepted)
        return {.text = where_it_runs(candidate) +
                        phrase("[ (installs version {version})]",
                               {{"version", scrubbed_or_none(candidate.version)}})};
    auto why = explained(worth_showing(candidate.reasons), place);
    // The manifest's note follows the fixes for the reasons.
    if (note_helps(candidate))
        add_once(why.fixes, scrubbed(*candidate.note, 1024));
    if (why.text.empty())
        why.text = candidate.verdict == Verdict::Rejected ? "rejected" : where_it_runs(candidate);
    return why;
}

namespace {

bool has_gpu_of(const Report& report, std::string_view vendor) {
    return std::any_of(report.gpus.begin(), report.gpus.end(),
                       [vendor](const Gpu& gpu) { return gpu.vendor == vendor; });
}

/// True for reasons that nothing can change, such as a GPU from another vendor.
bool is_by_nature(const Reason& reason) {
    return has_trait(reason.code, ReasonTraits::ByNature);
}

/// The sentence for a backend that is available only through a software implementation; "" for
/// other backends.
std::string software_sentence(const Report& report, std::string_view api) {
    for (const auto& software : report.software)
        if (software.api == api)
            return phrase("only in software, on the CPU: {name}",
                          {{"name", scrubbed(software.name.value_or("unnamed"))}});
    return "";
}

/// The sentence for the outcome of probing an API.
std::string runtime_sentence(const Report& report, std::string_view api) {
    const auto runtime = report.runtimes.find(std::string{api});
    if (runtime == report.runtimes.end())
        return report.gpus.empty() ? "no GPU" : "unknown for every GPU here";
    switch (runtime->second.outcome) {
        case Outcome::Absent:
            return "the library or driver is not installed";
        case Outcome::Answered:
            return explained(because("no-device")).text;
        case Outcome::Failed:
            return explained(because("driver-failed")).text;
        case Outcome::TimedOut:
            return explained(because("driver-timed-out")).text;
        case Outcome::Crashed:
            return explained(because("driver-crashed")).text;
        case Outcome::Skipped:
            break;
    }
    return explained(because("skipped")).text;
}

/// The obstacle for a backend that has no result on any GPU.
Obstacle general_obstacle(const Report& report, const std::string& backend) {
    Obstacle obstacle{.backend = backend};
    const auto vendor = vendor_of_backend(backend);
    // The most basic reason comes first: the machine has no GPU from the backend's vendor, the
    // backend works only in software, or the outcome of the probe.
    if (!vendor.empty() && !has_gpu_of(report, vendor))
        obstacle.text = phrase("no {vendor} GPU", {{"vendor", vendor_title(vendor)}});
    else
        obstacle.text = software_sentence(report, api_below(backend));
    if (obstacle.text.empty())
        obstacle.text = runtime_sentence(report, api_below(backend));
    return obstacle;
}

/// Makes an obstacle for each GPU that has a result worth showing.
std::vector<Obstacle> gpu_obstacles(const Report& report,
                                    const std::vector<Finding>& findings,
                                    const std::string& backend) {
    std::vector<Obstacle> found;
    for (const auto& gpu : report.gpus) {
        const auto view = gpu.backends.find(backend);
        if (view == gpu.backends.end() || view->second.usable == true)
            continue;
        const auto& reasons = view->second.reasons;
        // Skip GPUs that the backend can never use, such as CUDA on an AMD GPU.
        if (std::all_of(reasons.begin(), reasons.end(), is_by_nature))
            continue;
        auto why = explained(
            reasons,
            {.findings = &findings, .gpu = gpu.id, .api = std::string{api_below(backend)}});
        found.push_back({.backend = backend,
                         .gpu = gpu.id,
                         .text = std::move(why.text),
                         .fixes = std::move(why.fixes),
                         .is_uncertain = !view->second.usable});
    }
    return found;
}

/// Merges equal obstacles of several GPUs into one line. If all GPUs have the same obstacle, the
/// line names no GPU.
std::vector<Obstacle> merged(const std::vector<Obstacle>& found, std::size_t gpus) {
    std::vector<Obstacle> lines;
    for (const auto& obstacle : found) {
        const auto same = std::find_if(lines.begin(), lines.end(), [&](const Obstacle& line) {
            return line.text == obstacle.text && line.is_uncertain == obstacle.is_uncertain;
        });
        if (same == lines.end())
            lines.push_back(obstacle);
        else
            ++same->others;
    }
    if (gpus > 1 && lines.size() == 1 && lines.front().others + 1 == gpus) {
        lines.front().gpu.reset();
        lines.front().others = 0;
    }
    return lines;
}

/// Adds an obstacle, or adds its backend to an equal obstacle.
void add_or_join(std::vector<Obstacle>& all, Obstacle obstacle) {
    const auto same = std::find_if(all.begin(), all.end(), [&obstacle](const Obstacle& other) {
        return other.gpu == obstacle.gpu && other.others == obstacle.others &&
               other.text == obstacle.text && other.is_uncertain == obstacle.is_uncertain;
    });
    if (same == all.end())
        all.push_back(std::move(obstacle));
    else
        same->backend += ", " + obstacle.backend;
}

}  // namespace

std::vector<Obstacle> obstacles(const Report& report, const std::vector<Finding>& findings) {
    std::vector<Obstacle> all;
    for (const auto& backend : backend_names(report)) {
        auto found = gpu_obstacles(report, findings, backend);
        const bool works = std::any_of(report.gpus.begin(), report.gpus.end(), [&](const Gpu& gpu) {
            const auto view = gpu.backends.find(backend);
            return view != gpu.backends.end() && view->second.usable == true;
        });
        if (found.empty() && !works)
            found.push_back(general_obstacle(report, backend));
        for (auto& obstacle : merged(found, report.gpus.size()))
            add_or_join(all, std::move(obstacle));
    }
    return all;
}

}  // namespace gpuprobe::inline explain
