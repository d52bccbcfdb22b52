// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parse.h"
#include "base/record.h"
#include "explain/doctor.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::size_t kMaxTitle = 1024;

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
    const auto word = fmt::format("{:<{}}", name_of(finding.severity), kWord);
    auto text = hanging(screen, "  " + toned(screen, tone_of(finding.severity), word) + "  ",
                        kIndent, finding.sentence);
    if (finding.fix)
        text += hanging_fix(screen,
                            std::string(kIndent, ' ') + toned(screen, Tone::Strong, "fix:") + " ",
                            kIndent + 5, *finding.fix,
                            finding.commands.empty() ? command_in(*finding.fix)
                                                     : finding.fix->find(finding.commands.front()));
    return text;
}

/// The findings that are of those devices alone, the gravest first.
std::string section(const std::string& title,
                    const std::vector<Finding>& findings,
                    const std::vector<std::string>& gpus,
                    const Screen& screen) {
    std::vector<Finding> own;
    std::ranges::copy_if(findings, std::back_inserter(own),
                         [&gpus](const Finding& finding) { return finding.gpus == gpus; });
    if (own.empty())
        return "";
    std::ranges::stable_sort(own, std::ranges::greater{}, &Finding::severity);
    auto text = "\n" + toned(screen, Tone::Strong, title) + "\n";
    for (const auto& finding : own)
        text += finding_lines(finding, screen);
    return text;
}

struct Titled {
    std::string id = {};
    std::string title = {};
};

std::vector<Titled> titles(const Report& report) {
    std::vector<Titled> devices;
    const auto add = [&devices](const std::string& id, const std::optional<std::string>& name) {
        devices.push_back({id, fmt::format("{}  {}", scrubbed(id), scrubbed(name.value_or("")))});
    };
    for (const auto& gpu : report.gpus)
        add(gpu.id, gpu.name);
    for (const auto& accelerator : report.accelerators)
        add(accelerator.id, accelerator.name);
    return devices;
}

/// What several devices share, once for each such set.
std::string shared_sections(const std::vector<Finding>& findings, const Screen& screen) {
    std::vector<std::vector<std::string>> sets;
    for (const auto& finding : findings)
        if (finding.gpus.size() > 1 && std::ranges::find(sets, finding.gpus) == sets.end())
            sets.push_back(finding.gpus);
    std::string text;
    for (const auto& gpus : sets)
        text += section(scrubbed(fmt::format("{}", fmt::join(gpus, ", ")), kMaxTitle), findings,
                        gpus, screen);
    return text;
}

}  // namespace

std::string doctor_text(const Report& report,
                        const std::vector<Finding>& findings,
                        const Screen& screen) {
    auto text = headline(report, findings, screen);
    text += section("This machine", findings, {}, screen);
    text += shared_sections(findings, screen);
    for (const auto& [id, title] : titles(report)) {
        text += section(title, findings, {id}, screen);
        const auto is_told = [&id](const Finding& finding) {
            return std::ranges::find(finding.gpus, id) != finding.gpus.end();
        };
        if (std::ranges::none_of(findings, is_told))
            text += "\n" + toned(screen, Tone::Strong, title) + "\n  " +
                    toned(screen, Tone::Good, "ok") + "\n";
    }
    return text;
}

std::string fix_script(const std::vector<Finding>& findings) {
    std::string text =
        "#!/bin/sh\n# What gpuprobectl doctor would do here. Read it before you run it.\nset -e\n";
    std::set<std::string> told;
    for (const auto& finding : findings) {
        if (!finding.is_safe || finding.is_for_host || finding.severity == Severity::Info)
            continue;
        text += "\n# " + finding.id + ": " + scrubbed(finding.sentence, kMaxTitle) + "\n";
        for (const auto& command : finding.commands)
            text += told.insert(command).second ? command + "\n" : "# (as above)\n";
    }
    return told.empty() ? text + "\n# Nothing here can be mended by a script.\n" : text;
}

}  // namespace gpuprobe::inline cli
