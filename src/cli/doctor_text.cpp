// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/parse.h"
#include "base/record.h"
#include "explain/doctor.h"
#include "explain/doctor_table.h"

namespace gpuprobe {
namespace {

constexpr int kDoctorSchema = 1;

Tone tone_of(Severity severity) {
    switch (severity) {
        case Severity::Error:
            return Tone::Bad;
        case Severity::Warning:
            return Tone::Unsure;
        case Severity::Info:
            return Tone::Faint;
        case Severity::Ok:
            break;
    }
    return Tone::Good;
}

std::size_t count_of(const std::vector<Finding>& findings, Severity severity) {
    return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

std::string counted(std::size_t number, std::string_view word) {
    return fmt::format("{} {}{}", number, word, number == 1 ? "" : "s");
}

bool is_known_to_work(const Report& report) {
    return std::ranges::any_of(report.gpus, [](const Gpu& gpu) {
        return std::ranges::any_of(gpu.backends,
                                   [](const auto& entry) { return entry.second.usable == true; });
    });
}

std::string headline(const Report& report,
                     const std::vector<Finding>& findings,
                     const Screen& screen) {
    const auto worst = gravest(findings);
    std::string text;
    for (const auto severity : {Severity::Error, Severity::Warning})
        if (const auto number = count_of(findings, severity))
            text += (text.empty() ? "" : ", ") + counted(number, name_of(severity));
    if (text.empty())
        text = is_known_to_work(report) ? "nothing keeps the GPUs from being used"
                                        : "nothing is wrong, and nothing is known to work";
    if (const auto number = count_of(findings, Severity::Info))
        text += fmt::format("{}{} to know", screen.dot(), counted(number, "thing"));
    return toned(screen, tone_of(worst == Severity::Info ? Severity::Ok : worst), text) + "\n";
}

std::string finding_lines(const Finding& finding, const Screen& screen) {
    constexpr std::size_t kWord = 7;  // "warning"
    constexpr std::size_t kIndent = 2 + kWord + 2;
    const auto words = diagnosis(finding);
    const auto word = fmt::format("{:<{}}", name_of(finding.severity), kWord);
    auto text = hanging(screen, "  " + toned(screen, tone_of(finding.severity), word) + "  ",
                        kIndent, words.sentence);
    if (words.hint)
        text +=
            hanging(screen, std::string(kIndent, ' ') + toned(screen, Tone::Strong, "fix:") + " ",
                    kIndent + 5, *words.hint);
    return text;
}

std::string section(const std::string& title,
                    const std::vector<Finding>& findings,
                    const std::optional<std::string>& gpu,
                    const Screen& screen) {
    std::vector<Finding> own;
    std::ranges::copy_if(findings, std::back_inserter(own),
                         [&gpu](const Finding& finding) { return finding.gpu == gpu; });
    if (own.empty() && !gpu)
        return "";
    std::ranges::stable_sort(own, std::ranges::greater{}, &Finding::severity);
    auto text = "\n" + toned(screen, Tone::Strong, title) + "\n";
    for (const auto& finding : own)
        text += finding_lines(finding, screen);
    if (own.empty())
        text += "  " + toned(screen, Tone::Good, "ok") + "\n";
    return text;
}

const Wording* find_wording(std::string_view code) {
    const auto* found = std::ranges::find(kDiagnoses, code, &Wording::code);
    return found == std::end(kDiagnoses) ? nullptr : found;
}

/// Those for a container, or for its case, where it has some.
const Wording* wording_of(const Finding& finding) {
    const auto* inside = find_wording(finding.id + "@container");
    if (inside && !finding.evidence.at("container").is_null())
        return inside;
    const auto* name = finding.evidence.at("case").as_string();
    const auto* own = name ? find_wording(finding.id + "@" + *name) : nullptr;
    return own ? own : find_wording(finding.id);
}

}  // namespace

Explanation diagnosis(const Finding& finding) {
    const auto* found = wording_of(finding);
    if (!found)
        return {.sentence = scrubbed(finding.id)};
    Explanation words{.sentence = filled(found->sentence, finding.evidence)};
    if (auto fix = filled(found->hint, finding.evidence); !fix.empty())
        words.hint = std::move(fix);
    return words;
}

std::string doctor_text(const Report& report,
                        const std::vector<Finding>& findings,
                        const Screen& screen) {
    auto text = headline(report, findings, screen);
    text += section("This machine", findings, std::nullopt, screen);
    for (const auto& gpu : report.gpus)
        text += section(fmt::format("{}  {}", scrubbed(gpu.id), scrubbed(gpu.name.value_or(""))),
                        findings, gpu.id, screen);
    return text;
}

Value doctor_document(const std::vector<Finding>& findings) {
    Value list{Value::Array{}};
    for (const auto& finding : findings) {
        const auto words = diagnosis(finding);
        auto entry = to_value(finding);
        entry["sentence"] = words.sentence;
        entry["fix"] = to_value(words.hint);
        list.push_back(std::move(entry));
    }
    Value document{Value::Object{}};
    document["schema"] = kDoctorSchema;
    document["severity"] = Value{name_of(gravest(findings))};
    document["findings"] = std::move(list);
    return document;
}

}  // namespace gpuprobe
