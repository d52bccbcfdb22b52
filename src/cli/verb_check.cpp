// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cli/choice.h"
#include "cli/direct_client.h"
#include "cli/verb.h"
#include "cli/verb_recommend.h"
#include "explain/phrase.h"
#include "explain/screen.h"
#include "policy/document_check.h"

namespace gpuprobe::inline cli {
namespace {

/// The maximum number of captures that one command reads.
constexpr std::size_t kMaxMachines = 1024;

bool is_capture(const std::string& folder) {
    return RootedFiles{folder}.exists("/capture.json");
}

/// The captures in a folder, or the folder itself. Errors: InvalidRequest over kMaxMachines.
Result<std::vector<std::string>> captures_in(const std::string& folder) {
    std::vector<std::string> captures;
    if (!is_capture(folder))
        for (const auto& name : RootedFiles{folder}.list("/").value_or({}))
            if (const auto inside = folder + "/" + name; is_capture(inside))
                captures.push_back(inside);
    if (captures.size() > kMaxMachines)
        return Error{ErrorCode::InvalidRequest, folder + ": more than 1024 captures"};
    std::ranges::sort(captures);
    // A folder that is not a capture is reported when it is opened.
    return captures.empty() ? std::vector{folder} : captures;
}

/// The last part of a path.
std::string name_of_capture(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/'))
        path.remove_suffix(1);
    return scrubbed(path.substr(path.find_last_of('/') + 1), 64);
}

/// The outcome on each capture that the command line names, or on this machine if it names none.
Result<std::vector<MachineOutcome>> outcomes(Context& context, const Application& application) {
    const auto& arguments = context.arguments;
    std::vector<MachineOutcome> found;
    if (arguments.captures.empty()) {
        const auto report = TRY(context.client.report());
        found.push_back(outcome_on(application, "this machine", report));
        return found;
    }
    for (const auto& folder : arguments.captures) {
        const auto captures = TRY(captures_in(folder));
        for (const auto& capture : captures) {
            const auto client = TRY(DirectClient::open({.replay = capture,
                                                        .knowledge_root = arguments.knowledge_root,
                                                        .has_cache = false}));
            const auto report = TRY(client->report());
            found.push_back(outcome_on(application, name_of_capture(capture), report));
        }
    }
    return found;
}

/// The findings as one text, and a note if there may be more findings.
std::string findings_text(const DocumentCheck& check, const Screen& screen) {
    std::string text;
    for (const auto& finding : check.findings) {
        const bool is_mistake = finding.grade == FindingGrade::Mistake;
        text += hanging(
            screen,
            verdict_sign(is_mistake ? Verdict::Rejected : Verdict::Unknown, {}, screen) + " ", 2,
            text_of(finding));
    }
    if (!check.is_complete)
        text += "Correct these mistakes, then check the file again: it may contain more.\n";
    return text;
}

/// The variant and whether its verdict is certain, or the reason why there is no variant.
Cell variant_cell(const MachineOutcome& outcome, const Screen& screen) {
    if (!outcome.status)
        return {.text = std::string{screen.dash()}};
    if (!outcome.variant)
        return {.text = outcome.status == RecommendStatus::NoPlatform
                            ? "no variant for its platform"
                            : "no variant fits",
                .tone = Tone::Bad};
    const bool is_sure =
        outcome.status == RecommendStatus::Ok && outcome.verdict == Verdict::Accepted;
    const auto doubt = is_sure                                                ? ""
                       : outcome.status == RecommendStatus::DefaultUnverified ? ", by default"
                                                                              : ", perhaps";
    return {.text = scrubbed(*outcome.variant) + doubt,
            .tone = is_sure ? Tone::Good : Tone::Unsure};
}

std::string machines_text(const std::vector<MachineOutcome>& machines, const Screen& screen) {
    Table table{{{.title = "MACHINE", .may_shrink = true},
                 {.title = "VARIANT"},
                 {.title = "BACKEND"},
                 {.title = "GPUS", .may_shrink = true, .may_go = true}}};
    const std::string dash{screen.dash()};
    for (const auto& outcome : machines)
        table.add(
            {{.text = outcome.machine, .tone = Tone::Strong},
             variant_cell(outcome, screen),
             {.text = scrubbed(outcome.backend.value_or(dash))},
             {.text = outcome.gpus.empty() ? dash : scrubbed(base::joined(outcome.gpus, ", "))}});
    return table.empty() ? "" : table.text(screen);
}

Value document_of(const std::string& file,
                  const DocumentCheck& check,
                  const std::vector<MachineOutcome>& machines) {
    Value document{Value::Object{}};
    document["file"] = scrubbed(file, 4096);
    document["findings"] = to_value(check.findings);
    document["complete"] = check.is_complete;
    document["usable"] = check.application.has_value();
    document["machines"] = to_value(machines);
    return document;
}

Result<ExitCode> run_check(Context& context) {
    const auto& arguments = context.arguments;
    const auto& file = *arguments.check.file;
    const auto check = check_document(TRY(manifest_text(file)));
    const auto found = check.application ? TRY(outcomes(context, *check.application))
                                         : std::vector<MachineOutcome>{};
    const auto code = check.has_mistakes() ? ExitCode::Failed : ExitCode::Answered;
    if (context.wants_json()) {
        print_json(arguments, document_of(file, check, found));
        return code;
    }
    print(findings_text(check, context.screen));
    if (arguments.is_quiet)
        return code;
    if (check.findings.empty())
        print("no mistakes\n");
    if (!check.application)
        remark(arguments, "programs reject this file, so it has no effect on any machine");
    else
        print("\n" + machines_text(found, context.screen));
    return code;
}

Status check_check(Arguments& arguments) {
    if (!arguments.check.file)
        return refusal("check: missing FILE");
    return Done{};
}

}  // namespace

Verb check_verb() {
    return {
        .name = "check",
        .group = VerbGroup::Advanced,
        .overview = {{"check FILE", "find mistakes in a manifest or an application's data file"}},
        .usage = {"check FILE [--replay=DIR]… [OPTION…]"},
        .about = R"(
Helps authors of manifests and of applications' data files: shows every mistake with its position in
FILE, the violated rule, and the keyword that the author probably meant. An unknown keyword that does
not resemble a known keyword is only a warning, because a newer version of gpuprobe may support it.
Then a table shows which variant gpuprobe chooses on this machine, or on each capture that --replay
names. --replay may be repeated and may name a folder of captures. If FILE is "-", check reads
standard input. The exit status is 1 if there are mistakes.
)",
        .operands = {{.word = {.name = "FILE", .names = kFiles},
                      .take = put<&Arguments::check, &CheckArguments::file>}},
        .takes_captures = true,
        .check = check_check,
        .run = run_check};
}

}  // namespace gpuprobe::inline cli
