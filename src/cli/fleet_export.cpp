// SPDX-License-Identifier: Apache-2.0
#include "cli/fleet_export.h"

#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/record.h"
#include "base/version.h"
#include "cli/export_file.h"
#include "cli/recommendation.h"
#include "engine/live_memory.h"
#include "explain/doctor.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "report/compute_view.h"
#include "report/staleness.h"

namespace gpuprobe::inline cli {
namespace {

/// So many lines of a difference are told.
constexpr std::size_t kMaxTold = 20;

/// What is printed of a run, as text or as JSON.
struct ExportRun {
    std::string_view outcome = {};
    ExitCode code = ExitCode::Answered;
    std::optional<std::string> reason = {};
    std::vector<std::string> lost = {};
    std::vector<std::string> gained = {};
};

/// The first part of this machine's name, as schedulers name nodes.
std::string own_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0)
        return "";
    const std::string_view text{name.data()};
    return std::string{text.substr(0, text.find('.'))};
}

/// A report is kept as long as nothing changes, and its machine is so still; a recorded one was so.
std::optional<WallTime> observed_at(const Report& report, WallTime now) {
    return report.source == ReportSource::Replay ? report.created : now;
}

Result<std::vector<Recommendation>> answers_for(Context& context) {
    std::vector<Recommendation> answers;
    const auto& arguments = context.arguments;
    if (arguments.recommend.manifest)
        answers.push_back(TRY(recommended(context)));
    else
        for (const auto& product : arguments.fleet.products)
            answers.push_back(TRY(recommended(context, product)));
    return answers;
}

Result<ExportRun> compared(const Arguments& arguments, const std::string& text, WallTime now) {
    auto difference = TRY(export_difference(*arguments.fleet.check, text, now));
    if (difference.is_none())
        return ExportRun{.outcome = "equal"};
    return ExportRun{.outcome = "differs",
                     .code = ExitCode::Failed,
                     .reason = std::move(difference.reason),
                     .lost = std::move(difference.lost),
                     .gained = std::move(difference.gained)};
}

Result<ExportRun> placed(const ExportFormat& format,
                         const std::string& path,
                         Exported& exported,
                         const Report& report,
                         WallTime now) {
    auto done = TRY(place_export(format, path, *exported.text, report, now));
    if (!done.refusal)
        return ExportRun{.outcome = done.is_written ? "written" : "unchanged"};
    exported.left_out.push_back(std::move(*done.refusal));
    return ExportRun{.outcome = "refused", .lost = std::move(done.would_lose)};
}

Result<ExportRun> done_with(Context& context,
                            const ExportFormat& format,
                            Exported& exported,
                            const Report& report,
                            WallTime now) {
    const auto& fleet = context.arguments.fleet;
    if (!exported.text)
        return ExportRun{.outcome = "refused"};
    if (fleet.check)
        return compared(context.arguments, *exported.text, now);
    if (fleet.output && *fleet.output != "-")
        return placed(format, *fleet.output, exported, report, now);
    if (!context.wants_json())
        print(*exported.text);
    return ExportRun{.outcome = "printed"};
}

Value to_document(const std::vector<ExportRemark>& remarks) {
    Value::Array list;
    for (const auto& remark : remarks) {
        Value item{Value::Object{}};
        item["code"] = remark.code;
        item["text"] = scrubbed(remark.text, 1024);
        list.push_back(std::move(item));
    }
    return Value{std::move(list)};
}

void print_document(const Arguments& arguments,
                    const ExportFormat& format,
                    const Exported& exported,
                    const ExportRun& result) {
    Value document{Value::Object{}};
    document["format"] = format.name;
    document["result"] = result.outcome;
    document["reason"] = to_value(result.reason);
    document["text"] = to_value(exported.text);
    document["left_out"] = to_document(exported.left_out);
    document["notes"] = to_document(exported.notes);
    document["lost"] = to_value(result.lost);
    document["gained"] = to_value(result.gained);
    print_json(arguments, document);
}

void tell_lines(const Arguments& arguments, char sign, const std::vector<std::string>& lines) {
    for (std::size_t index = 0; index < lines.size() && index < kMaxTold; ++index)
        remark(arguments, fmt::format("{}{}", sign, scrubbed(lines[index])));
    if (lines.size() > kMaxTold)
        remark(arguments, phrase("{sign} and {more} more",
                                 {{"sign", std::string{sign}},
                                  {"more", std::to_string(lines.size() - kMaxTold)}}));
}

void tell(const Arguments& arguments, const Exported& exported, const ExportRun& result) {
    for (const auto& note : exported.notes)
        remark(arguments, scrubbed(note.text, 1024));
    for (const auto& left_out : exported.left_out)
        remark(arguments, fmt::format("{}: {}", left_out.code, scrubbed(left_out.text, 1024)));
    if (result.outcome == "differs")
        remark(arguments,
               phrase("{file} differs[: {why}]",
                      {{"file", scrubbed(*arguments.fleet.check, 512)}, {"why", result.reason}}));
    tell_lines(arguments, '-', result.lost);
    tell_lines(arguments, '+', result.gained);
}

}  // namespace

Result<ExitCode> export_to_fleet(Context& context, const ExportFormat& format) {
    const auto& arguments = context.arguments;
    auto report = TRY(context.client.report());
    if (context.client.info().kind == "daemon")
        engine::refresh_accelerators(RootedFiles{}, report);
    const auto& rules = Rules::current();
    const auto now = SystemClock{}.wall();
    const ComputeView view{report};
    auto exported = format.write({.report = view.report(),
                                  .rules = rules,
                                  .answers = TRY(answers_for(context)),
                                  .version = std::string{kVersion},
                                  .node = arguments.fleet.node.value_or(own_name()),
                                  .observed = observed_at(report, now),
                                  .expires = now + kExportLife,
                                  .findings = summary_of(examine(report, {}))});
    for (const auto& stale : stale_among(report.notes))
        exported.notes.push_back({.code = stale.code, .text = explained(stale).text});
    auto result = TRY(done_with(context, format, exported, report, now));
    if (context.wants_json())
        print_document(arguments, format, exported, result);
    else
        tell(arguments, exported, result);
    if (result.code == ExitCode::Answered && !exported.left_out.empty())
        return ExitCode::NoMatch;
    return result.code;
}

}  // namespace gpuprobe::inline cli
