// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/result.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "calls/documents.h"
#include "cli/context.h"
#include "cli/export_file.h"
#include "cli/verb.h"
#include "cli/verb_recommend.h"
#include "engine/live_memory.h"
#include "explain/doctor.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "export/formats.h"
#include "policy/exports.h"
#include "policy/manifest.h"
#include "policy/select.h"
#include "report/compute_view.h"
#include "report/outcome.h"

namespace gpuprobe::inline cli {
namespace {

/// The maximum number of differing lines that are printed.
constexpr std::size_t kMaxPrinted = 20;

/// The result of an export, for text and JSON output.
struct ExportRun {
    std::string_view outcome = {};
    ExitCode code = ExitCode::Answered;
    std::optional<std::string> reason = {};
    std::vector<std::string> lost = {};
    std::vector<std::string> gained = {};
};

/// The host name without its domain, as schedulers name nodes.
std::string own_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0)
        return "";
    const std::string_view text{name.data()};
    return std::string{text.substr(0, text.find('.'))};
}

/// The time that the report describes. A live report is kept up to date, so it describes the
/// present; a captured report describes the time of the capture.
std::optional<WallTime> observed_at(const Report& report, WallTime now) {
    return report.source == ReportSource::Replay ? report.created : now;
}

/// The recommendations for the named applications or the named manifest.
Result<std::vector<Recommendation>> answers_for(Context& context) {
    std::vector<Recommendation> answers;
    const auto& arguments = context.arguments;
    if (arguments.recommend.manifest)
        answers.push_back(TRY(recommended(context)));
    else
        for (const auto& application : arguments.fleet.applications)
            answers.push_back(TRY(recommended(context, application)));
    return answers;
}

/// Compares the export with the file of --check.
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

/// Writes the export to the file of --output. A refusal is added to the remarks.
Result<ExportRun> placed(const ExportFormat& format,
                         const FleetArguments& fleet,
                         Exported& exported,
                         const Report& report,
                         WallTime now) {
    auto done = TRY(place_export(format, *fleet.output, *exported.text, report,
                                 fleet.mode.value_or(kExportMode), now));
    if (!done.refusal)
        return ExportRun{.outcome = done.is_written ? "written" : "unchanged"};
    exported.left_out.push_back(std::move(*done.refusal));
    return ExportRun{.outcome = "refused", .lost = std::move(done.would_lose)};
}

/// Compares, writes or prints the export.
Result<ExportRun> done_with(Context& context,
                            const ExportFormat& format,
                            Exported& exported,
                            const Report& report,
                            WallTime now) {
    const auto& fleet = context.arguments.fleet;
    // The format can't describe this machine; left_out contains the reasons.
    if (!exported.text)
        return ExportRun{.outcome = "refused"};
    if (fleet.check)
        return compared(context.arguments, *exported.text, now);
    if (fleet.output && *fleet.output != "-")
        return placed(format, fleet, exported, report, now);
    if (!context.wants_json())
        print(*exported.text);
    return ExportRun{.outcome = "printed"};
}

/// Remarks as JSON: [{code, text}].
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

/// Prints the differing lines with "+" or "-" in front, as diff does.
void print_lines(const Arguments& arguments, char sign, const std::vector<std::string>& lines) {
    for (std::size_t index = 0; index < lines.size() && index < kMaxPrinted; ++index)
        remark(arguments, fmt::format("{}{}", sign, scrubbed(lines[index])));
    if (lines.size() > kMaxPrinted)
        remark(arguments, phrase("{sign} and {more} more",
                                 {{"sign", std::string{sign}},
                                  {"more", std::to_string(lines.size() - kMaxPrinted)}}));
}

/// Prints remarks and differences to standard error.
void print_remarks(const Arguments& arguments, const Exported& exported, const ExportRun& result) {
    for (const auto& note : exported.notes)
        remark(arguments, scrubbed(note.text, 1024));
    for (const auto& left_out : exported.left_out)
        remark(arguments, fmt::format("{}: {}", left_out.code, scrubbed(left_out.text, 1024)));
    if (result.outcome == "differs")
        remark(arguments,
               phrase("{file} differs[: {why}]",
                      {{"file", scrubbed(*arguments.fleet.check, 512)}, {"why", result.reason}}));
    print_lines(arguments, '-', result.lost);
    print_lines(arguments, '+', result.gained);
}

/// Prints an export, writes it to a file, or compares it with a file, as the arguments request.
/// Returns Answered if everything was exported or is equal; Failed if --check found a difference;
/// NoMatch if the export was refused or something was left out. Errors: the errors of the client
/// and of place_export().
Result<ExitCode> export_to_fleet(Context& context, const ExportFormat& format) {
    const auto& arguments = context.arguments;
    auto report = TRY(context.client.report());
    // The daemon's report may contain outdated power and temperature values of accelerators.
    if (context.client.is_daemon())
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
    // Expired data files affect the export, so print warnings about them.
    for (const auto& stale : stale_among(report.notes))
        exported.notes.push_back({.code = stale.code, .text = explained(stale).text});
    auto result = TRY(done_with(context, format, exported, report, now));
    if (context.wants_json())
        print_document(arguments, format, exported, result);
    else
        print_remarks(arguments, exported, result);
    // A difference is a more important result than a remark.
    if (result.code == ExitCode::Answered && !exported.left_out.empty())
        return ExitCode::NoMatch;
    return result.code;
}

/// A format for another tool: variables or arguments for that tool.
struct ToolForm {
    std::string_view name = {};
    std::string_view summary = {};
};
// The formats are in the order of the help.
constexpr ToolForm kForms[] = {
    {"conda",
     "CONDA_OVERRIDE_CUDA, _CUDA_ARCH, _AMDGPU, _GLIBC …; mamba and pixi also read these "
     "variables"},
    {"uv",
     "UV_CUDA_DRIVER_VERSION or UV_AMD_GPU_ARCHITECTURE; with APPLICATION, the application's "
     "package indexes"},
    {"wheel", "properties for providers of Python wheel variants"},
    {"pip", "the package and the indexes of the recommended variant of APPLICATION"},
    {"ffmpeg",
     "the options before -i for hardware decoding, on the GPU that select ffmpeg chooses"},
    {"ggml", "CMake options for llama.cpp and similar projects"},
    {"container",
     "arguments for docker and podman; with APPLICATION, only for the GPUs that the application "
     "uses"},
};

/// The export for a tool: variables or arguments. Either the variables or the arguments are empty.
struct ToolAnswer {
    Settings variables = {};
    std::vector<std::string> arguments = {};
    std::string problem = {};  ///< reason why the export is unexpectedly empty
    /// The command that installs the variant, if the variables and arguments do not contain the
    /// whole answer.
    std::string command = {};
    std::string oldest = {};  ///< the oldest version of the tool that accepts the variables
};

/// The recommendation for APPLICATION; nullopt if no application was named. Errors: NoMatch if no
/// variant fits, or if only a CPU variant fits although the machine has a GPU.
Result<std::optional<Recommendation>> answer_if_asked(Context& context) {
    const auto& wanted = context.arguments.recommend;
    if (wanted.application.empty() && !wanted.manifest)
        return std::optional<Recommendation>{};
    auto answer = TRY(recommended(context));
    if (!answer.variant)
        return Error{ErrorCode::NoMatch,
                     phrase("no variant of '{application}' works here[; {closest}]",
                            {{"application", scrubbed(answer.application)},
                             {"closest", closest_variant_text(answer)}})};
    const auto unused = std::ranges::find(answer.warnings, "gpu-unused", &Reason::code);
    if (answer.gpus.empty() && unused != answer.warnings.end() &&
        !context.arguments.fleet.allows_cpu)
        return Error{
            ErrorCode::NoMatch,
            phrase("'{variant}' uses no GPU, and {unused}; to accept this variant, add --allow-cpu",
                   {{"variant", scrubbed(*answer.variant)}, {"unused", explained(*unused).text}})};
    return std::optional{std::move(answer)};
}

/// The family of the recommended variant.
std::string family_of(const Recommendation& answer) {
    const auto chosen =
        std::ranges::find(answer.candidates, answer.variant, &VariantCandidate::variant);
    return chosen == answer.candidates.end() ? "" : chosen->family;
}

/// The named application if it has no variants, so that only its selection determines its GPUs.
Result<std::optional<ApplicationSummary>> application_without_variants(Context& context) {
    const auto& wanted = context.arguments.recommend;
    if (wanted.format != "container" || wanted.application.empty() || wanted.manifest)
        return std::optional<ApplicationSummary>{};
    auto list = TRY(context.client.ask_for<ApplicationList>("ListApplications"));
    for (auto& known : list.applications)
        if (known.name == wanted.application && known.variants.empty())
            return std::optional{std::move(known)};
    return std::optional<ApplicationSummary>{};
}

/// Arguments that give a container the GPUs that an application without variants uses. Only
/// applications for videos have video backends.
Result<ToolAnswer> for_container_of(Context& context, const ApplicationSummary& application) {
    const auto report = TRY(context.client.report());
    const ComputeView view{report};
    const auto decision = TRY(context.client.select(application.name, Value{Value::Object{}}));
    if (decision.gpus.empty())
        return ToolAnswer{};
    const bool is_about_videos = std::ranges::any_of(application.backends, is_video_backend);
    return ToolAnswer{.arguments = container_arguments(view.report(), decision.gpus,
                                                       is_about_videos ? kVideo : "")};
}

/// Arguments that give a container its GPUs. A variant for the CPU gets no GPU.
ToolAnswer for_containers(const Report& report, const std::optional<Recommendation>& answer) {
    ToolAnswer made;
    if (answer)
        made.command = install_command(*answer, Installer::Pip);
    if (answer && answer->gpus.empty())
        return made;
    made.arguments = answer ? container_arguments(report, answer->gpus, family_of(*answer))
                            : container_arguments(report, {});
    // Machines with only display GPUs have nothing to pass on, which isn't a problem.
    const bool has_gpu = std::ranges::any_of(
        report.gpus, [](const Gpu& gpu) { return gpu.kind != GpuKind::DisplayOnly; });
    if (made.arguments.empty() && has_gpu)
        made.problem = "no GPU here has a device node or a CDI name for containers";
    return made;
}

/// The reason why pip and uv cannot install the variant.
std::string not_python(const Recommendation& answer) {
    return phrase("the variant {variant} is not a Python package",
                  {{"variant", scrubbed(answer.variant.value_or(""), 64)}});
}

/// Arguments that make pip install the variant.
ToolAnswer for_pip(const Recommendation& answer) {
    ToolAnswer made{.arguments = pip_arguments(answer)};
    if (made.arguments.empty())
        made.problem = not_python(answer);
    return made;
}

/// Variables that make uv install the variant.
ToolAnswer for_uv(const Report& report, const Recommendation* answer) {
    const auto& rules = Rules::current();
    ToolAnswer made{.variables = uv_variables(report, rules, answer)};
    made.oldest = oldest_uv(made.variables, rules);
    if (!answer)
        return made;
    made.command = install_command(*answer, Installer::Uv);
    if (pip_arguments(*answer).empty())
        made.problem = not_python(*answer);
    else if (!fits_uv_variables(*answer))
        made.problem = phrase("uv's environment variables cannot contain a package; run: {command}",
                              {{"command", made.command}});
    return made;
}

/// The report with only the GPUs that the variant uses.
Report used_part(const Report& report, const Recommendation& answer) {
    auto used = report;
    std::erase_if(used.gpus, [&answer](const Gpu& gpu) {
        return std::ranges::find(answer.gpus, gpu.id) == answer.gpus.end();
    });
    return used;
}

/// conda's variables for the GPUs that the variant uses. conda chooses its own packages.
ToolAnswer for_conda(const Report& report, const Recommendation* answer) {
    const auto& rules = Rules::current();
    if (!answer)
        return {.variables = conda_variables(report, rules)};
    return {.variables = conda_variables(used_part(report, *answer), rules),
            .command = install_command(*answer, Installer::Pip)};
}

/// FFmpeg's options for decoding on the chosen GPU; no options for the CPU. The options for CUDA
/// name a GPU by its number, which is correct only if the variables of the choice are set.
Result<ToolAnswer> for_ffmpeg(Context& context, const Report& report) {
    const auto decision = TRY(context.client.select("ffmpeg", Value{Value::Object{}}));
    const auto options = decision.answers.find("arguments");
    if (options == decision.answers.end())
        return ToolAnswer{};
    const auto vendor = vendor_of_backend(decision.backend.value_or(""));
    const auto is_alternative = [&vendor](const Gpu& gpu) { return gpu.vendor == vendor; };
    if (!vendor.empty() && std::ranges::count_if(report.gpus, is_alternative) > 1)
        remark(context.arguments,
               "set the variables that 'gpuprobectl env ffmpeg' prints, because the options name "
               "the GPU by its number");
    ToolAnswer made;
    for (const auto word : words(options->second))
        made.arguments.emplace_back(word);
    return made;
}

/// The export in the format that the arguments name.
Result<ToolAnswer> exported(Context& context, const std::optional<Recommendation>& answer) {
    const auto& format = context.arguments.recommend.format;
    const auto whole = TRY(context.client.report());
    const ComputeView view{whole};
    const auto& report = view.report();
    const auto& rules = Rules::current();
    if (format == "conda")
        return for_conda(report, answer ? &*answer : nullptr);
    if (format == "uv")
        return for_uv(report, answer ? &*answer : nullptr);
    if (format == "wheel")
        return ToolAnswer{.variables = wheel_variables(report, rules)};
    if (format == "container")
        return for_containers(report, answer);
    if (format == "ffmpeg")
        return for_ffmpeg(context, report);
    if (format == "pip" && !answer)
        return Error{ErrorCode::InvalidRequest, "export pip: missing APPLICATION"};
    if (format == "pip") {
        if (const auto exclusion = exclusion_text(*answer); !exclusion.empty())
            remark(context.arguments, "warning: " + exclusion);
        return for_pip(*answer);
    }
    // The remaining format is ggml: print the options to build for the default choice.
    const auto decision = TRY(context.client.select("default", Value{Value::Object{}}));
    return ToolAnswer{.arguments =
                          ggml_options(report, decision.backend.value_or("cpu"), decision.gpus)};
}

/// The argument as it must be written for "$(…)": without quotes, because there a shell would pass
/// the quotes on to the program. Characters that occur in requirements and in lists of
/// architectures have no special meaning in "$(…)"; an argument with any other special character is
/// quoted.
std::string substituted(const std::string& argument) {
    constexpr std::string_view kHarmless = "[];~#";
    auto rest = argument;
    std::erase_if(rest, [&](char letter) { return kHarmless.find(letter) != std::string::npos; });
    return shell_quoted(rest) == rest ? argument : shell_quoted(argument);
}

void print_answer(const Context& context,
                  const ToolAnswer& answer,
                  const std::vector<Reason>& warnings) {
    const auto& arguments = context.arguments;
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["format"] = arguments.recommend.format;
        document["variables"] = Value{Value::Object{}};
        for (const auto& [name, value] : answer.variables)
            document["variables"][name] = value;
        document["arguments"] = to_value(answer.arguments);
        document["warnings"] = to_value(warnings);
        document["command"] = answer.command.empty() ? Value{} : Value{answer.command};
        document["min_version"] = answer.oldest.empty() ? Value{} : Value{answer.oldest};
        print_json(arguments, document);
        return;
    }
    warn(arguments, warnings);
    if (!answer.oldest.empty())
        remark(arguments,
               phrase("these variables need {tool} {version} or newer",
                      {{"tool", arguments.recommend.format}, {"version", answer.oldest}}));
    if (!answer.command.empty())
        remark(arguments,
               phrase("to install the package, run: {command}", {{"command", answer.command}}));
    for (const auto& [name, value] : answer.variables)
        print(name + "=" + shell_quoted(value) + "\n");
    std::string line;
    for (const auto& argument : answer.arguments)
        line += (line.empty() ? "" : " ") + substituted(argument);
    if (!line.empty())
        print(line + "\n");
}

/// Prints the format that the arguments name. Errors: NoMatch or InvalidRequest, and the errors of
/// the client.
Status export_answer(Context& context) {
    const auto plain = TRY(application_without_variants(context));
    std::optional<Recommendation> answer;
    if (!plain)
        answer = TRY(answer_if_asked(context));
    const auto result = TRY(plain ? for_container_of(context, *plain) : exported(context, answer));
    if (!result.problem.empty())
        return Error{ErrorCode::NoMatch, phrase("export {format}: {problem}",
                                                {{"format", context.arguments.recommend.format},
                                                 {"problem", result.problem}})};
    const auto warnings =
        answer ? answer->warnings : stale_among(TRY(context.client.report()).notes);
    print_answer(context, result, warnings);
    return Done{};
}

/// Printed instead of an export if there is no answer. A command such as `pip install $(gpuprobectl
/// export pip torch)` ignores the exit status of the export, but every program refuses an unknown
/// option.
constexpr auto kNoAnswer = "--gpuprobe-has-no-answer\n";

Result<ExitCode> export_to_tool(Context& context) {
    auto exported = export_answer(context);
    if (exported)
        return ExitCode::Answered;
    if (!context.wants_json())
        print(kNoAnswer);
    return std::move(exported).error();
}

/// All formats, separated by spaces.
const std::string& format_names() {
    static const std::string names = [] {
        std::string text;
        for (const auto& form : kForms)
            text += fmt::format("{}{}", text.empty() ? "" : " ", form.name);
        for (const auto& format : export_formats())
            text += fmt::format(" {}", format.name);
        return text;
    }();
    return names;
}

/// The text of the help page, with a line for each format.
const std::string& about_export() {
    static const std::string page = [] {
        std::string text = R"(
Prints one answer for another tool, as variables (KEY=VALUE) or arguments:

)";
        for (const auto& form : kForms)
            text += fmt::format("  {:<11}  {}\n", form.name, form.summary);
        text += R"(
With these formats, export describes this machine to an orchestrator, and lists the variants of
each APPLICATION that run on this machine:

)";
        for (const auto& format : export_formats())
            text += fmt::format("  {:<11}  {}\n", format.name, format.summary);
        return text + R"(
export replaces a file atomically, and only if its content has changed. If a probe was interrupted,
export removes nothing from the file. The exit status is 1 if --check finds a difference other than
dates, and 3 if something was left out or refused; the reason is printed on standard error.

An export for another tool refuses a CPU variant if a GPU would stay unused, unless you give
--allow-cpu. If there is no answer, the export prints --gpuprobe-has-no-answer. No program supports
this option, so the command that contains the export fails and installs nothing:

  pip install $(gpuprobectl export pip torch)
)";
    }();
    return page;
}

Result<ExitCode> run_export(Context& context) {
    if (const auto* format = export_format(context.arguments.recommend.format))
        return export_to_fleet(context, *format);
    return export_to_tool(context);
}

/// Checks the options for formats that describe the machine. --install becomes --output with the
/// usual path.
Status check_fleet(FleetArguments& fleet, const ExportFormat& format) {
    if (fleet.installs && format.usual.empty())
        return refusal(fmt::format("export {}: this format has no default path; use --output=FILE",
                                   format.name));
    if (fleet.installs && fleet.output)
        return refusal(
            "export: --install writes to the default path and cannot be combined with --output");
    if (fleet.installs)
        fleet.output = format.usual;
    if (fleet.every && (!fleet.output || *fleet.output == "-"))
        return refusal("export: --every requires --output or --install");
    if (fleet.mode && (!fleet.output || *fleet.output == "-"))
        return refusal("export: --mode requires --output or --install");
    if (fleet.output && fleet.check)
        return refusal("export: --output and --check cannot be combined");
    if (fleet.output && *fleet.output != "-")
        return check_export_path(format, *fleet.output);
    return Done{};
}

/// Checks the options. Formats for a tool accept one application and no file options.
Status check_export(Arguments& arguments) {
    auto& wanted = arguments.recommend;
    auto& fleet = arguments.fleet;
    if (wanted.format.empty())
        return refusal(
            phrase("export: missing FORMAT; choose one of: {names}", {{"names", format_names()}}));
    if (wanted.manifest && fleet.applications.size() > 1)
        return refusal("export: --manifest requires exactly one APPLICATION");
    if (!fleet.applications.empty())
        wanted.application = fleet.applications.front();
    if (const auto* format = export_format(wanted.format))
        return check_fleet(fleet, *format);
    if (fleet.applications.size() > 1)
        return refusal(phrase("export {format}: requires exactly one APPLICATION",
                              {{"format", wanted.format}}));
    if (fleet.output || fleet.installs || fleet.check || fleet.node || fleet.every || fleet.mode)
        return refusal(
            phrase("export {format}: this format does not support --output, --install, --check, "
                   "--every, --mode or --node",
                   {{"format", wanted.format}}));
    return Done{};
}

Status add_application(Arguments& arguments, const std::string& word) {
    arguments.fleet.applications.push_back(word);
    return Done{};
}

/// Stores the value of --mode. The mode must let the owner read the file, and must not let anyone
/// execute it, because Ansible runs an executable .fact instead of reading it.
Status take_mode(Arguments& arguments, const std::string& word) {
    const auto mode = parse_number<unsigned>(word, 8);
    if (!mode || (*mode & ~0666U) != 0 || (*mode & 0400U) == 0)
        return refusal(fmt::format("{}: expected a file mode such as 0640 or 0644", word));
    arguments.fleet.mode = mode;
    return Done{};
}

Status take_every(Arguments& arguments, const std::string& word) {
    // The longest interval is a week.
    constexpr int kMost = 7 * 24 * 60 * 60;
    const auto seconds = parse_number<int>(word);
    if (!seconds || *seconds < 1 || *seconds > kMost)
        return refusal(fmt::format("{} is not a number from 1 to {}", word, kMost));
    arguments.fleet.every = seconds;
    return Done{};
}

std::vector<Option> fleet_options() {
    return {
        {.names = "--allow-cpu",
         .help = "with formats for other tools: accept a CPU variant even if a GPU is then unused",
         .take = put<&Arguments::fleet, &FleetArguments::allows_cpu>},
        {.names = "--output",
         .value = {.name = "FILE", .names = kFiles},
         .help = "write the export to this file atomically, instead of to standard output",
         .take = put<&Arguments::fleet, &FleetArguments::output>},
        {.names = "--install",
         .help = "write the export to the default path of this format",
         .take = put<&Arguments::fleet, &FleetArguments::installs>},
        {.names = "--check",
         .value = {.name = "FILE", .names = kFiles},
         .help = "compare the export with this file, and write nothing",
         .take = put<&Arguments::fleet, &FleetArguments::check>},
        {.names = "--every",
         .value = {.name = "SECONDS"},
         .help = "with --output or --install: repeat the export at this interval until interrupted",
         .take = take_every},
        {.names = "--mode",
         .value = {.name = "MODE"},
         .help = "with --output or --install: the file's mode, such as 0640 (default: 0644)",
         .take = take_mode},
        {.names = "--node",
         .value = {.name = "NAME"},
         .help = "name of this machine in Slurm and OpenTelemetry, if that name differs from the "
                 "host name",
         .take = put<&Arguments::fleet, &FleetArguments::node>}};
}

}  // namespace

Verb export_verb() {
    return {
        .name = "export",
        .group = VerbGroup::Record,
        .overview = {{"export FORMAT",
                      "print the answer in a form that pip, docker, Ansible, Slurm … can read"}},
        .usage = {"export FORMAT [APPLICATION…] [OPTION…]"},
        .about = about_export(),
        .operands = {{.word = {.name = "FORMAT", .offers = format_names(), .takes_others = false},
                      .take = put<&Arguments::recommend, &RecommendArguments::format>},
                     {.word = {.name = "APPLICATION", .names = kManifests},
                      .take = add_application,
                      .repeats = true}},
        .options = joined(fleet_options(), variant_options()),
        .check = check_export,
        .run = run_export};
}

}  // namespace gpuprobe::inline cli
