// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "calls/documents.h"
#include "calls/surroundings.h"
#include "cli/verb.h"
#include "engine/redaction.h"
#include "explain/doctor.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "probe/worker_sandbox.h"
#include "report/report.h"

namespace gpuprobe::inline cli {
namespace {

// Limits for strings and files from the machine.
constexpr std::size_t kMaxTitle = 1024;
constexpr Bytes kMaxCapturedFile = mib(4);

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

/// The number of findings with the given severity.
std::size_t count_of(const std::vector<Finding>& findings, Severity severity) {
    return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

std::string count_words(std::size_t number, Severity severity) {
    if (severity == Severity::Error)
        return plural(number, "{number} error", "{number} errors");
    if (severity == Severity::Warning)
        return plural(number, "{number} warning", "{number} warnings");
    return plural(number, "{number} note", "{number} notes");
}

/// Whether a backend works on a GPU.
bool is_known_to_work(const Report& report) {
    return std::ranges::any_of(report.gpus, [](const Gpu& gpu) {
        return std::ranges::any_of(gpu.backends,
                                   [](const auto& entry) { return entry.second.usable == true; });
    });
}

/// The first line: the number of errors and warnings, or that nothing is wrong.
std::string headline(const Report& report,
                     const std::vector<Finding>& findings,
                     const Screen& screen) {
    const auto worst = gravest(findings);
    std::string text;
    for (const auto severity : {Severity::Error, Severity::Warning})
        if (const auto number = count_of(findings, severity))
            text += (text.empty() ? "" : ", ") + count_words(number, severity);
    if (text.empty())
        text = is_known_to_work(report) ? "no problem found: all GPUs can be used"
                                        : "no problem found, but no backend is known to work";
    if (const auto number = count_of(findings, Severity::Info))
        text.append(screen.dot()).append(count_words(number, Severity::Info));
    return hanging(screen, "", 0, text, tone_of(worst == Severity::Info ? Severity::Ok : worst));
}

/// A finding with its severity in the left column, then its fix.
std::string finding_lines(const Finding& finding, const Screen& screen) {
    constexpr std::size_t kWord = 7;  // "warning"
    constexpr std::size_t kIndent = 2 + kWord + 2;
    const auto word = fmt::format("{:<{}}", name_of(finding.severity), kWord);
    auto text = hanging(screen, "  " + toned(screen, tone_of(finding.severity), word) + "  ",
                        kIndent, finding.sentence);
    // A command in the fix is never broken across lines.
    if (finding.fix)
        text += hanging_fix(screen,
                            std::string(kIndent, ' ') + toned(screen, Tone::Strong, "fix:") + " ",
                            kIndent + 5, *finding.fix,
                            finding.commands.empty() ? command_in(*finding.fix)
                                                     : finding.fix->find(finding.commands.front()));
    return text;
}

/// The section with the findings about exactly these GPUs, most severe first; "" if there are no
/// findings.
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
    auto text = "\n" + hanging(screen, "", 0, title, Tone::Strong);
    for (const auto& finding : own)
        text += finding_lines(finding, screen);
    return text;
}

/// A device and its heading.
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
        add(gpu.id, gpu_title(gpu));
    for (const auto& accelerator : report.accelerators)
        add(accelerator.id, accelerator_title(accelerator));
    return devices;
}

/// The findings that several devices share, once for each set of devices.
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

/// All findings as text: the machine, shared findings, then each device.
std::string doctor_text(const Report& report,
                        const std::vector<Finding>& findings,
                        const Screen& screen) {
    auto text = headline(report, findings, screen);
    text += section("This machine", findings, {}, screen);
    text += shared_sections(findings, screen);
    for (const auto& [id, title] : titles(report)) {
        text += section(title, findings, {id}, screen);
        const auto is_about_it = [&id = id](const Finding& finding) {
            return contains(finding.gpus, id);
        };
        // A device without findings is listed too, as "ok".
        if (std::ranges::none_of(findings, is_about_it))
            text += "\n" + hanging(screen, "", 0, title, Tone::Strong) + "  " +
                    toned(screen, Tone::Good, "ok") + "\n";
    }
    return text;
}

/// A shell script with comments, for the user to read and run. The script contains the commands
/// that are safe on this machine, each command once.
std::string fix_script(const std::vector<Finding>& findings) {
    std::string text =
        "#!/bin/sh\n# Fixes from gpuprobectl doctor for this machine. Read the fixes before you "
        "run this script.\nset -e\n";
    std::set<std::string> printed;
    for (const auto& finding : findings) {
        // Fixes for the host don't work inside a container.
        if (!finding.is_safe || finding.is_for_host || finding.severity == Severity::Info)
            continue;
        text += "\n# " + finding.id + ": " + scrubbed(finding.sentence, kMaxTitle) + "\n";
        for (const auto& command : finding.commands)
            text += printed.insert(command).second ? command + "\n" : "# (as above)\n";
    }
    return printed.empty() ? text + "\n# No finding can be fixed by a script.\n" : text;
}

/// The environment of this process, or the environment that the replayed capture describes; nullopt
/// if the capture describes none.
Result<std::optional<Surroundings>> own_or_captured_surroundings(const Arguments& arguments) {
    if (arguments.replay)
        return captured_surroundings(*arguments.replay);
    return std::optional{own_surroundings(RootedFiles{})};
}

/// The environment of the process that the report belongs to; empty if the report is about a
/// capture that does not describe this environment, or if the daemon serves a capture.
Result<Surroundings> surroundings_of(const Report& report, const Arguments& arguments) {
    if (report.source == ReportSource::Replay && !arguments.replay)
        return Surroundings{};
    return TRY(own_or_captured_surroundings(arguments)).value_or(Surroundings{});
}

/// Writes a capture that includes the container, sandbox and variables of the requesting process.
Status write_capture(Context& context, const std::string& folder, engine::Redaction* mask) {
    TRY(context.client.capture(folder, mask));
    const auto here = TRY(own_or_captured_surroundings(context.arguments));
    return here ? add_to_capture(folder, *here, mask) : Status{Done{}};
}

/// Returns Found if a finding is an error or, with --strict, at least a warning.
ExitCode exit_code_of(Severity severity, bool is_strict) {
    const auto limit = is_strict ? Severity::Warning : Severity::Error;
    return severity >= limit ? ExitCode::Found : ExitCode::Answered;
}

/// A capture as one object: file contents by path; folders, whose paths end with a slash; and
/// links, which are objects with the member `link`.
Result<Value> captured(Context& context, engine::Redaction& mask) {
    namespace fs = std::filesystem;
    std::error_code problem;
    const auto folder =
        TRY(RunFolder::make(fs::temp_directory_path(problem).string(), "gpuprobe-doctor"));
    TRY(write_capture(context, folder.path(), &mask));
    Value files{Value::Object{}};
    std::error_code cut_short;
    for (auto entry = fs::recursive_directory_iterator{folder.path(), cut_short};
         entry != fs::recursive_directory_iterator{}; entry.increment(cut_short)) {
        const auto path = entry->path().lexically_relative(folder.path()).string();
        if (entry->is_symlink(problem))
            files[path]["link"] = Value{fs::read_symlink(entry->path(), problem).string()};
        else if (entry->is_directory(problem))
            files[path + "/"] = Value{Value::Object{}};
        else
            files[path] = Value{TRY(RootedFiles{}.read(entry->path().string(), kMaxCapturedFile))};
    }
    if (cut_short)
        return errno_error(folder.path(), cut_short.value());
    return files;
}

/// Writes findings, report and capture to a file as one redacted document, without drivers' output.
/// The findings are computed from the redacted report, so that the messages of the findings contain
/// no identifiers either.
Status write_report(const std::string& file, const Report& report, Context& context) {
    engine::Redaction mask{engine::identifiers_of(RootedFiles{})};
    const auto clean = TRY(record_from<Report>(mask.masked_document(to_value(report))));
    const auto here = TRY(surroundings_of(report, context.arguments));
    auto bundle = mask.masked_document(to_value(diagnosis_of(examine(clean, here))));
    bundle["report"] = to_value(clean);
    bundle["capture"] = TRY(captured(context, mask));
    return write_atomically(file, json_pretty(bundle));
}

Result<ExitCode> run_doctor(Context& context) {
    TRY(context.client.renew());
    const auto report = TRY(context.client.report());
    const auto here = TRY(surroundings_of(report, context.arguments));
    const auto findings = examine(report, here);
    if (context.arguments.bundle)
        TRY(write_report(*context.arguments.bundle, report, context));
    if (context.arguments.wants_script)
        print(fix_script(findings));
    else if (context.wants_json())
        print_json(context.arguments, to_value(diagnosis_of(findings)));
    else
        print(doctor_text(report, findings, context.screen));
    return exit_code_of(gravest(findings), context.arguments.warnings_count);
}

/// --bug-report needs files that a daemon's client can't read, so it excludes --socket.
Status check_doctor(Arguments& arguments) {
    if (arguments.bundle && arguments.socket)
        return refusal(
            "doctor: --bug-report reads this machine directly and cannot be combined with "
            "--socket");
    return Done{};
}

}  // namespace

Verb doctor_verb() {
    return {.name = "doctor",
            .overview = {{"doctor", "explain why a GPU is not used, and suggest fixes"}},
            .usage = {"doctor [--strict] [--fix-script] [--bug-report=FILE] [OPTION…]"},
            .about = R"(
Checks every known reason why a GPU is not used: permissions, missing loaders and drivers, versions
that do not match, containers, environment variables. For each finding, doctor shows the evidence and
a fix for this distribution or container.
The exit status is 6 if an error was found; warnings and notes do not change the exit status.
)",
            .options = {{.names = "--strict",
                         .help = "count warnings as errors",
                         .take = put<&Arguments::warnings_count>},
                        {.names = "--fix-script",
                         .help = "print a shell script with the safe fixes, without running it",
                         .take = put<&Arguments::wants_script>},
                        {.names = "--bug-report",
                         .value = {.name = "FILE", .names = kFiles},
                         .help = "write the findings, the report and a redacted capture to a file "
                                 "for a bug report",
                         .take = put<&Arguments::bundle>}},
            .check = check_doctor,
            .run = run_doctor};
}

namespace {

Result<ExitCode> run_capture(Context& context) {
    const auto& arguments = context.arguments;
    const auto& folder = *arguments.capture_folder;
    // Redaction searches for the identifiers of this machine.
    std::optional<engine::Redaction> mask;
    if (arguments.redacts)
        mask.emplace(engine::identifiers_of(RootedFiles{}), arguments.keeps_driver_output);
    TRY(write_capture(context, folder, mask ? &*mask : nullptr));
    if (arguments.json == JsonMode::Off) {
        remark(arguments, phrase("capture written; replay it with 'gpuprobectl --replay {folder}'",
                                 {{"folder", folder}}));
        return ExitCode::Answered;
    }
    Value document;
    document["capture"] = folder;
    document["redacted"] = arguments.redacts;
    print_json(arguments, document);
    return ExitCode::Answered;
}

Status check_capture(Arguments& arguments) {
    if (!arguments.capture_folder)
        return refusal("capture: missing DIR");
    if (arguments.keeps_driver_output && !arguments.redacts)
        return refusal(
            "--with-driver-output requires --redact: without --redact, captures always contain the "
            "drivers' output");
    return Done{};
}

}  // namespace

Verb capture_verb() {
    return {
        .name = "capture",
        .group = VerbGroup::Record,
        .overview = {{"capture DIR", "record this machine for --replay, a test or a bug report"}},
        .usage = {"capture DIR [--redact [--with-driver-output]] [OPTION…]"},
        .about = R"(
Records in DIR the data that the kernel and the drivers report about this machine. DIR must be empty or
must not exist. 'gpuprobectl --replay DIR' then gives the answers that this machine would give.
)",
        .operands = {{.word = {.name = "DIR", .names = kFolders},
                      .take = put<&Arguments::capture_folder>}},
        .options = {{.names = "--redact",
                     .help = "replace data that identifies devices, machines and people",
                     .take = put<&Arguments::redacts>},
                    {.names = "--with-driver-output",
                     .help = "with --redact: include the drivers' output in redacted form",
                     .take = put<&Arguments::keeps_driver_output>}},
        .check = check_capture,
        .run = run_capture};
}

}  // namespace gpuprobe::inline cli
