// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/parse.h"
#include "base/record.h"
#include "explain/doctor.h"

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
    const auto words = explain(finding);
    const auto word = fmt::format("{:<{}}", name_of(finding.severity), kWord);
    auto text = hanging(screen, "  " + toned(screen, tone_of(finding.severity), word) + "  ",
                        kIndent, words.text);
    if (words.fix)
        text +=
            hanging(screen, std::string(kIndent, ' ') + toned(screen, Tone::Strong, "fix:") + " ",
                    kIndent + 5, *words.fix);
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

}  // namespace

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
        const auto words = explain(finding);
        auto entry = to_value(finding);
        entry["sentence"] = words.text;
        entry["fix"] = to_value(words.fix);
        list.push_back(std::move(entry));
    }
    Value document{Value::Object{}};
    document["schema"] = kDoctorSchema;
    document["severity"] = Value{name_of(gravest(findings))};
    document["findings"] = std::move(list);
    return document;
}

}  // namespace gpuprobe
