// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "cli/choice.h"
#include "cli/direct_client.h"
#include "cli/verb.h"
#include "cli/verb_recommend.h"
#include "engine/knowledge_base.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/screen.h"
#include "policy/application_set.h"
#include "policy/document_check.h"

namespace gpuprobe::inline cli {
namespace {

using engine::KnowledgeFolders;

/// A data file in use. Members that the file does not have are empty.
struct DocumentStatus {
    std::string document = {};
    knowledge::Origin from = knowledge::Origin::BuiltIn;
    std::optional<std::string> file = {};
    std::optional<std::string> version = {};
    std::optional<std::string> issued = {};
    std::optional<std::string> expires = {};
    bool expired = false;
    std::optional<Duration> age = {};         ///< time since the file was issued
    std::optional<std::string> checked = {};  ///< the day of the last check for a newer version
    std::optional<std::string> newer = {};    ///< a known newer version
};
RECORD_MEMBERS(
    DocumentStatus, document, from, file, version, issued, expires, expired, age, checked, newer)

struct KnowledgeStatus {
    std::string version = {};  ///< version of the newest set of data files
    knowledge::Origin from = knowledge::Origin::BuiltIn;
    std::vector<DocumentStatus> documents = {};
    std::vector<Reason> ignored = {};
};
RECORD_MEMBERS(KnowledgeStatus, version, from, documents, ignored)

/// Copies the dates and the project's versions from a part of an application's data file.
void take_part(const std::optional<std::string>& issued,
               const std::optional<std::string>& expires,
               const Value& source,
               DocumentStatus& status) {
    const auto upstream = upstream_versions(source);
    status.version = upstream.version;
    status.issued = issued;
    status.expires = expires;
    status.checked = upstream.checked;
    status.newer = upstream.newer;
}

/// The status of an application's data file. The parts of the file contain the dates, and the
/// member `source` contains the project's versions.
void take_application(const Application& application, DocumentStatus& status) {
    if (const auto& selection = application.selection)
        take_part(selection->issued, selection->expires, selection->source.value_or(Value{}),
                  status);
    if (const auto& manifest = application.manifest) {
        take_part(manifest->issued, manifest->expires, manifest->source, status);
        if (manifest->version)
            status.version = manifest->version;
    }
}

/// The status of one data file.
DocumentStatus status_of(const std::string& name,
                         const knowledge::StoredDocument& document,
                         WallTime now) {
    const auto head = knowledge::head_of(document.json).value_or({});
    DocumentStatus status{.document = name,
                          .from = document.origin,
                          .version = head.version,
                          .issued = head.issued,
                          .expires = head.expires,
                          .checked = head.checked};
    if (!document.path.empty())
        status.file = document.path;
    if (name.starts_with("applications/"))
        if (const auto application = parse_application(document.json))
            take_application(*application, status);
    const auto expires = knowledge::instant_of(status.expires.value_or(""));
    status.expired = expires && now >= *expires;
    if (const auto issued = knowledge::instant_of(status.issued.value_or("")))
        status.age = std::max(now - *issued, Duration{});
    return status;
}

/// The status of all data files in the given folders.
KnowledgeStatus status_in(const KnowledgeFolders& folders, WallTime now) {
    auto loaded = engine::knowledge_in(folders);
    KnowledgeStatus status{.version = text_of(loaded.library->version()),
                           .from = loaded.library->origin(),
                           .ignored = std::move(loaded.ignored)};
    for (const auto& [name, document] : loaded.library->all())
        status.documents.push_back(status_of(name, document, now));
    return status;
}

/// The date of an instant such as "2026-11-27T10:00:00Z"; "-" if there is no instant.
std::string day_of(const std::optional<std::string>& instant) {
    constexpr std::size_t kDay = 10;
    return scrubbed(instant.value_or("-").substr(0, kDay));
}

/// An age in days, such as "12 days"; "-" if the age is unknown.
std::string days_of(const std::optional<Duration>& age) {
    if (!age)
        return "-";
    const auto days = std::chrono::floor<std::chrono::days>(*age).count();
    return plural(static_cast<std::uint64_t>(days), "{number} day", "{number} days", {});
}

/// Prints the status as a table or as JSON.
Result<ExitCode> show(const Arguments& arguments, const KnowledgeFolders& folders, WallTime now) {
    const auto status = status_in(folders, now);
    if (arguments.json != JsonMode::Off) {
        print_json(arguments, to_value(status));
        return ExitCode::Answered;
    }
    // The verb runs without a client, so it has no Context with a screen.
    auto screen = screen_of(STDOUT_FILENO, arguments.colour);
    print(fmt::format("knowledge {} ({})\n\n", status.version, name_of(status.from)));
    Table table{{{.title = "DOCUMENT", .may_shrink = true},
                 {.title = "FROM"},
                 {.title = "VERSION"},
                 {.title = "NEWER"},
                 {.title = "AGE"},
                 {.title = "CHECKED"},
                 {.title = "EXPIRES"}}};
    for (const auto& document : status.documents)
        table.add({{.text = scrubbed(document.document), .tone = Tone::Strong},
                   {.text = std::string{name_of(document.from)}},
                   {.text = scrubbed(document.version.value_or("-"), 40)},
                   {.text = scrubbed(document.newer.value_or("-"), 40),
                    .tone = document.newer ? Tone::Unsure : Tone::Plain},
                   {.text = days_of(document.age)},
                   {.text = day_of(document.checked)},
                   {.text = day_of(document.expires) + (document.expired ? " (expired)" : ""),
                    .tone = document.expired ? Tone::Unsure : Tone::Plain}});
    print(table.text(screen));
    for (const auto& note : status.ignored)
        remark(arguments, explained(note).text);
    return ExitCode::Answered;
}

/// Prints the result of an action, as JSON, or as `text` unless --quiet was given.
Result<ExitCode> print_result(const Arguments& arguments,
                              const std::string& version,
                              const std::optional<std::string>& key,
                              const std::string& text) {
    if (arguments.json != JsonMode::Off) {
        Value document{Value::Object{}};
        document["version"] = version;
        document["key"] = to_value(key);
        print_json(arguments, document);
    } else if (!arguments.is_quiet) {
        print(text);
    }
    return ExitCode::Answered;
}

Result<ExitCode> run_knowledge(const Arguments& arguments) {
    const auto folders = KnowledgeFolders::below(arguments.knowledge_root);
    const auto now = SystemClock{}.wall();
    const auto& action = arguments.knowledge.action;
    if (action == "status")
        return show(arguments, folders, now);
    if (action == "rollback") {
        TRY(engine::roll_back(folders));
        // Read the folders again to find out which data files are in use now.
        const auto library = engine::knowledge_in(folders).library;
        const auto version = text_of(library->version());
        return print_result(
            arguments, version, std::nullopt,
            phrase("knowledge {version} ({origin}) is in use",
                   {{"version", version}, {"origin", std::string{name_of(library->origin())}}}) +
                "\n");
    }
    // `verify` and `update` both check the bundle; `update` also installs it.
    const auto bundle = TRY(engine::checked_bundle(*arguments.knowledge.file, folders, now));
    const auto& version = bundle.bundle.head.version;
    if (action == "update")
        TRY(engine::install(bundle, folders));
    return print_result(
        arguments, version, bundle.key,
        plural(
            bundle.bundle.head.documents.size(),
            action == "update" ? "knowledge {version}, {number} data file, signed by {key}: in use"
                               : "knowledge {version}, {number} data file, signed by {key}",
            action == "update" ? "knowledge {version}, {number} data files, signed by {key}: in use"
                               : "knowledge {version}, {number} data files, signed by {key}",
            {{"version", version}, {"key", scrubbed(bundle.key)}}) +
            "\n");
}

/// Checks that `verify` and `update` have a file, and that `status` and `rollback` have none.
Status check_knowledge(Arguments& arguments) {
    const auto& knowledge = arguments.knowledge;
    const bool takes_file = knowledge.action == "update" || knowledge.action == "verify";
    if (takes_file && !knowledge.file)
        return refusal(phrase("knowledge {action}: missing FILE", {{"action", knowledge.action}}));
    if (!takes_file && knowledge.file)
        return refusal(
            phrase("knowledge {action}: unexpected FILE", {{"action", knowledge.action}}));
    return Done{};
}

}  // namespace

Verb knowledge_verb() {
    return {.name = "knowledge",
            .group = VerbGroup::Administer,
            .overview = {{"knowledge", "show or update the data files that answers are based on"}},
            .usage = {"knowledge [status]", "knowledge verify FILE", "knowledge update FILE",
                      "knowledge rollback"},
            .about = R"(
Data files contain the facts about chips, drivers, distributions, causes and applications. The data
files are compiled into the program, or come from the package gpuprobe-knowledge, a bundle, or an
administrator. status shows the data files in use. verify checks the signature of a bundle and every
file in it. update verifies a bundle and, as root, installs it; rollback returns to the previous
bundle. A running daemon loads the new data files. In the table, NEWER is a version of the application
that the data file does not cover yet, and CHECKED is the date on which the data file was last
checked.
)",
            .operands = {{.word = {.name = "ACTION",
                                   .offers = "status verify update rollback",
                                   .takes_others = false},
                          .take = put<&Arguments::knowledge, &KnowledgeArguments::action>},
                         {.word = {.name = "FILE", .names = kFiles},
                          .take = put<&Arguments::knowledge, &KnowledgeArguments::file>}},
            .check = check_knowledge,
            .run_alone = run_knowledge};
}

// check -------------------------------------------------------------------------------------------

namespace {

/// The maximum number of captures that one command reads.
constexpr std::size_t kMaxMachines = 1024;

bool is_capture(const std::string& folder) {
    return RootedFiles{folder}.exists("/capture.json");
}

/// The captures in a folder, or the folder itself. Errors: InvalidRequest for more than
/// kMaxMachines captures.
Result<std::vector<std::string>> captures_in(const std::string& folder) {
    std::vector<std::string> captures;
    if (!is_capture(folder))
        for (const auto& name : RootedFiles{folder}.list("/").value_or({}))
            if (const auto inside = folder + "/" + name; is_capture(inside))
                captures.push_back(inside);
    if (captures.size() > kMaxMachines)
        return Error{ErrorCode::InvalidRequest, folder + ": more than 1024 captures"};
    std::ranges::sort(captures);
    // A folder that isn't a capture is reported when it is opened.
    return captures.empty() ? std::vector{folder} : captures;
}

/// The last part of a path.
std::string name_of_capture(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/'))
        path.remove_suffix(1);
    return scrubbed(path.substr(path.find_last_of('/') + 1), 64);
}

/// Returns the outcome on each capture from the command line; without captures, on this machine.
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

/// The findings as one string, and a note if there may be more findings.
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
        text +=
            "Correct these mistakes, then check the file again, because the file may contain "
            "more mistakes.\n";
    return text;
}

/// The variant and whether its verdict is certain, or the reason why there is no variant.
Cell variant_cell(const MachineOutcome& outcome, const Screen& screen) {
    if (!outcome.status)
        return {.text = std::string{screen.dash()}};
    if (!outcome.variant)
        return {.text = outcome.status == RecommendStatus::NoPlatform
                            ? "no variant for the platform"
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
        remark(arguments, "programs reject this file, so the file has no effect on any machine");
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
