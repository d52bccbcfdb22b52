// SPDX-License-Identifier: Apache-2.0
#include "cli/choice.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "calls/documents.h"
#include "calls/surroundings.h"
#include "cli/context.h"
#include "engine/knowledge_base.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "inventory/host.h"
#include "inventory/installed_build.h"
#include "policy/environment.h"
#include "report/reason_table.h"

namespace gpuprobe::inline cli {
namespace {

using Gpus = std::vector<const Gpu*>;

template <class Predicate>
Gpus matching(const Report& report, Predicate matches) {
    Gpus found;
    for (const auto& gpu : report.gpus)
        if (matches(gpu))
            found.push_back(&gpu);
    return found;
}

bool has_node(const Gpu& gpu, std::string_view path) {
    return std::any_of(gpu.nodes.begin(), gpu.nodes.end(),
                       [path](const DeviceNode& node) { return node.path == path; });
}

bool has_address(const Gpu& gpu, std::string_view selector) {
    const auto address = parse_text(selector, std::type_identity<PciAddress>{});
    return address && gpu.pci && gpu.pci->address == address;
}

/// Whether the text starts with `start`, ignoring case.
bool starts(std::string_view text, std::string_view start) {
    return lower_case(text).starts_with(lower_case(start));
}

/// Whether the id, PCI address or NVIDIA UUID starts with the selector.
bool starts_like(const Gpu& gpu, std::string_view selector) {
    if (starts(gpu.id, selector))
        return true;
    if (gpu.pci && gpu.pci->address && starts(text_of(*gpu.pci->address), selector))
        return true;
    return gpu.identity.nvidia_uuid && starts(*gpu.identity.nvidia_uuid, selector);
}

/// Whether the selector can only be an index: a number of at most two digits. "7" must not match a
/// UHD Graphics 770.
bool is_place(std::string_view selector) {
    return selector.size() <= 2 && parse_number<std::size_t>(selector);
}

bool is_named_like(const Gpu& gpu, std::string_view selector) {
    return gpu.name && !is_place(selector) &&
           lower_case(*gpu.name).find(lower_case(selector)) != std::string::npos;
}

/// Whether `gpu` is the partition `name` of the only GPU that matches the text before the slash.
bool is_part_of(const Gpu& gpu,
                const Partition& partition,
                const Gpus& wholes,
                std::string_view name) {
    return wholes.size() == 1 && partition.name == name && whole_id(gpu.id) == wholes.front()->id;
}

/// The error for a selector that matches nothing.
Error unknown(const Report& report, std::string_view selector) {
    if (report.gpus.empty())
        return {ErrorCode::UnknownDevice,
                fmt::format("no GPU '{}': this machine has no GPU", selector)};
    return {ErrorCode::UnknownDevice,
            phrase("no GPU '{asked}'; this machine has {gpus}",
                   {{"asked", std::string{selector}},
                    {"gpus", gpu_listing(matching(report, [](const Gpu&) { return true; }))}})};
}

}  // namespace

std::string gpu_listing(const std::vector<const Gpu*>& gpus) {
    std::string text;
    for (const auto* gpu : gpus)
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", gpu->id,
                            gpu->name.value_or("unnamed"));
    return text;
}

std::vector<const Gpu*> gpus_meant(const Report& report, std::string_view selector) {
    if (selector.empty())
        return {};
    // The ways of naming a GPU, from the most exact to the vaguest. The first way that matches any
    // GPU is used.
    if (const auto index = parse_number<std::size_t>(selector);
        index && *index < report.gpus.size())
        return {&report.gpus[*index]};
    auto exact = matching(report, [selector](const Gpu& gpu) {
        return gpu.id == selector || has_node(gpu, selector) || has_address(gpu, selector);
    });
    if (!exact.empty())
        return exact;
    auto similar =
        matching(report, [selector](const Gpu& gpu) { return starts_like(gpu, selector); });
    if (!similar.empty())
        return similar;
    return matching(report, [selector](const Gpu& gpu) { return is_named_like(gpu, selector); });
}

std::vector<const Gpu*> gpus_meant(const ComputeView& view, std::string_view selector) {
    // The name of a partition follows the last slash. A path such as /dev/dri/card0 also contains a
    // slash, but no GPU matches the text before the slash.
    const auto slash = selector.rfind('/');
    const auto name = slash == std::string_view::npos ? "" : selector.substr(slash + 1);
    const auto wholes = name.empty() ? Gpus{} : gpus_meant(view.whole(), selector.substr(0, slash));
    auto partitions = matching(view.report(), [&](const Gpu& gpu) {
        const auto* partition = partition_of(gpu);
        return partition &&
               (gpu.id == selector || partition->uuid == selector || partition->node == selector ||
                is_part_of(gpu, *partition, wholes, name));
    });
    return partitions.empty() ? gpus_meant(view.whole(), selector) : partitions;
}

namespace {

/// Returns the only match. Errors: UnknownDevice if there is no match or more than one.
Result<const Gpu*> only_one(const Gpus& meant, const Report& report, std::string_view selector) {
    if (meant.empty())
        return unknown(report, selector);
    if (meant.size() == 1)
        return meant.front();
    return Error{ErrorCode::UnknownDevice,
                 phrase("'{asked}' matches several GPUs: {gpus}",
                        {{"asked", std::string{selector}}, {"gpus", gpu_listing(meant)}})};
}

}  // namespace

Result<const Gpu*> pick_gpu(const Report& report, std::string_view selector) {
    return only_one(gpus_meant(report, selector), report, selector);
}

Result<const Gpu*> pick_gpu(const ComputeView& view, std::string_view selector) {
    return only_one(gpus_meant(view, selector), view.whole(), selector);
}

namespace {

constexpr std::size_t kMaxComment = 4096;

std::string assignment(const std::string& name, const std::string& value) {
    return name + "=" + shell_quoted(value);
}

/// A selector as a shell comment, such as "# cuda, by position: CUDA_DEVICE_ORDER=PCI_BUS_ID
/// CUDA_VISIBLE_DEVICES=0".
std::string comment(const GpuSelector& selector) {
    const auto sentence = selector.kind == SelectorKind::Index
                              ? "# {api}[, partition {partition}], by position:"
                              : "# {api}[, partition {partition}]:";
    auto line = phrase(sentence, {{"api", selector.api}, {"partition", selector.partition}});
    for (const auto& [name, value] : needs_of(selector))
        line += " " + assignment(name, value);
    if (selector.argument)
        line += " " + shell_quoted(*selector.argument);
    // A line break would end the comment, and eval would run the rest as a command.
    return scrubbed(line, kMaxComment) + "\n";
}

}  // namespace

EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors,
                                   const std::map<std::string, std::string>& settings) {
    const auto chosen = chosen_selectors(selectors);
    EnvironmentLines lines;
    for (const auto& [name, value] : settings)
        lines.settings += assignment(name, value) + "\n";
    // Skip the selectors that are already in `settings`.
    for (const auto& selector : selectors)
        if (std::ranges::find(chosen, &selector) == chosen.end())
            lines.comments += comment(selector);
    return lines;
}

Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors) {
    Value positions{Value::Object{}};
    for (const auto& [api, view] : gpu.apis)
        // For an API whose device order is unknown, the index is missing.
        if (view.index)
            positions[api] = *view.index;
    Value card;
    card["gpu"] = gpu.id;
    card["name"] = to_value(gpu.name);
    card["vendor"] = to_value(gpu.vendor);
    card["pci"] = to_value(gpu.pci);
    card["nodes"] = to_value(gpu.nodes);
    card["identity"] = to_value(gpu.identity);
    card["indices"] = positions;
    card["selectors"] = to_value(selectors);
    return card;
}

namespace {

/// Widths of the columns "backend" and "GPU", which are to the left of the sentence.
struct Widths {
    std::size_t backend = 0;
    std::size_t gpu = 0;
};

/// Candidates with the same backend, sign and sentence, on one or several GPUs.
struct CandidateRow {
    std::string sign = {};
    std::string backend = {};
    std::string sentence = {};
    std::vector<std::string> gpus = {};

    /// "pci:0000:00:06.0 and 3 more"; "" for a candidate without a GPU.
    [[nodiscard]] std::string place() const { return gpus.empty() ? "" : first_and_more(gpus); }
};

/// Adds the candidate to the row with the same content, or adds a new row.
void add_row(const Candidate& candidate,
             const std::string& sentence,
             const Screen& screen,
             std::vector<CandidateRow>& rows) {
    CandidateRow row{.sign = verdict_sign(candidate.verdict, candidate.reasons, screen),
                     .backend = scrubbed(candidate.backend),
                     .sentence = sentence};
    if (candidate.gpu)
        row.gpus.push_back(*candidate.gpu);
    row.gpus.insert(row.gpus.end(), candidate.also.begin(), candidate.also.end());
    const auto same = std::ranges::find_if(rows, [&row](const CandidateRow& known) {
        return known.sign == row.sign && known.backend == row.backend &&
               known.sentence == row.sentence && known.gpus.empty() == row.gpus.empty();
    });
    if (same == rows.end())
        rows.push_back(std::move(row));
    else
        same->gpus.insert(same->gpus.end(), row.gpus.begin(), row.gpus.end());
}

Widths widths_of(const std::vector<CandidateRow>& rows) {
    Widths widths;
    for (const auto& row : rows) {
        widths.backend = std::max(widths.backend, display_width(row.backend));
        widths.gpu = std::max(widths.gpu, display_width(row.place()));
    }
    return widths;
}

/// " ✓ cuda pci:0000:00:06.0 sentence". Further lines are indented to the start of the sentence.
std::string candidate_lines(const CandidateRow& row, const Widths& widths, const Screen& screen) {
    auto rest = "  " + padded_right(row.backend, widths.backend) + "  ";
    if (widths.gpu > 0)
        rest += padded_right(row.place(), widths.gpu) + "  ";
    // Escape sequences have no width, so the width is computed without the sign.
    return hanging(screen, "  " + row.sign + rest, 3 + display_width(rest), row.sentence);
}

bool is_chosen(const Candidate& candidate, const Decision& decision) {
    return candidate.backend == decision.backend &&
           (!candidate.gpu || std::ranges::any_of(decision.gpus, [&candidate](const auto& id) {
               return id == *candidate.gpu || contains(candidate.also, id);
           }));
}

}  // namespace

namespace {

/// Whether a GPU, or the machine, may still be suitable despite the reasons.
bool leaves_open(const std::vector<Reason>& reasons) {
    std::set<std::string> open;
    std::set<std::string> closed;
    for (const auto& reason : reasons) {
        const auto* row = find_reason(reason.code);
        const auto* where = reason.detail.at("where").as_string();
        // A subject with a colon is the id of a GPU.
        const auto gpu = where && where->find(':') != std::string::npos ? *where : std::string{};
        const bool ends = !row || row->effect == ReasonEffect::Ends;
        if (ends && gpu.empty())
            return false;
        if (ends)
            closed.insert(gpu);
        else if (row->effect == ReasonEffect::LeavesOpen)
            open.insert(gpu);
    }
    // Unknown facts about the machine matter only if no GPU is ruled out.
    if (!closed.empty())
        open.erase("");
    for (const auto& gpu : closed)
        open.erase(gpu);
    return !open.empty();
}

}  // namespace

std::string verdict_sign(Verdict verdict,
                         const std::vector<Reason>& reasons,
                         const Screen& screen) {
    switch (verdict) {
        case Verdict::Accepted:
            return toned(screen, Tone::Good, screen.is_unicode ? "✓" : "+");
        case Verdict::Rejected:
            if (leaves_open(reasons))
                break;
            return toned(screen, Tone::Bad, screen.is_unicode ? "✗" : "-");
        case Verdict::Unknown:
        case Verdict::Uncertain:
            break;
    }
    return toned(screen, Tone::Unsure, "?");
}

std::string warnings_text(const std::vector<Reason>& warnings, const Screen& screen) {
    std::string text;
    for (const auto& warning : warnings)
        text += hanging(screen, "  " + toned(screen, Tone::Unsure, "warning:") + " ", 11,
                        explained(warning).text);
    return text;
}

std::string assumed_text(const std::map<std::string, std::string>& assumed, const Screen& screen) {
    std::string text;
    for (const auto& [fact, value] : assumed)
        text += (text.empty() ? "assumed for this answer: " : ", ") + scrubbed(fact, 64) + "=" +
                scrubbed(value, 128);
    return text.empty() ? text
                        : hanging(screen, "  " + toned(screen, Tone::Unsure, "?") + " ", 4, text);
}

std::string decision_text(const Decision& decision, const Report* report, const Screen& screen) {
    auto text = hanging(
        screen, "", 0,
        phrase("{backend}[ on {gpus}]",
               {{"backend",
                 toned(screen, Tone::Good, scrubbed(decision.backend.value_or("nothing matches")))},
                {"gpus", named_gpu_titles(decision.gpus, report, screen)}}));
    for (const auto& [name, value] : decision.environment)
        text += fmt::format("  {}={}\n", scrubbed(name), scrubbed(shell_quoted(value), 4096));
    if (decision.assumes)
        text +=
            hanging(screen, "  ", 2,
                    phrase("for the published build {variant}[ of version {version}]",
                           {{"variant", scrubbed(decision.assumes->variant)},
                            {"version", decision.assumes->version
                                            ? std::optional{scrubbed(*decision.assumes->version)}
                                            : std::nullopt}}));
    text += assumed_text(decision.assumed, screen) + warnings_text(decision.warnings, screen);
    if (!decision.summary.empty() && screen.has_legend)
        text += hanging(screen, "  ", 2, scrubbed(decision.summary, 1024), Tone::Faint);
    return text;
}

std::string application_text(const Decision& decision, const Screen& screen) {
    std::string text;
    if (!decision.answers.empty())
        text += "\n" + toned(screen, Tone::Strong, "Answers") + "\n";
    for (const auto& [name, value] : decision.answers)
        text += fmt::format("  {}={}\n", scrubbed(name), scrubbed(value));
    if (!decision.messages.empty())
        text += "\n" + toned(screen, Tone::Strong, "Messages from the application") + "\n";
    for (const auto& message : decision.messages)
        for (const auto line : split(message, '\n'))
            text += hanging(screen, "  ", 2, scrubbed(line, 1024));
    return text;
}

std::string candidates_text(const Decision& decision,
                            const ReasonPlace& place,
                            const Screen& screen) {
    // A fix may help several candidates, but is listed once.
    auto fixes = explained(decision.warnings, place).fixes;
    std::string text = "\n" + toned(screen, Tone::Strong, "Candidates") + "\n";
    if (decision.candidates.empty())
        text += "  none\n";
    // Fixes are shown only for candidates that are better than the chosen candidate.
    bool is_better = true;
    std::vector<CandidateRow> rows;
    for (const auto& candidate : decision.candidates) {
        const auto why = explained(candidate, place);
        add_row(candidate, why.text, screen, rows);
        is_better = is_better && !is_chosen(candidate, decision);
        for (const auto& fix : why.fixes)
            if (is_better)
                add_once(fixes, fix);
    }
    const auto widths = widths_of(rows);
    for (const auto& row : rows)
        text += candidate_lines(row, widths, screen);
    return text + fixes_text(fixes, screen);
}

std::string fixes_text(const std::vector<std::string>& fixes, const Screen& screen) {
    std::string text;
    if (!fixes.empty())
        text += "\n" + toned(screen, Tone::Strong, "What helps") + "\n";
    for (const auto& fix : fixes)
        text +=
            hanging_fix(screen, "  " + std::string{screen.bullet()} + " ", 4, fix, command_in(fix));
    return text;
}

namespace {

using Variables = std::map<std::string, std::string>;

/// Adds a variable of this process, if the variable is set.
void add_own(const std::string& variable, Variables& found) {
    if (const char* value = std::getenv(variable.c_str()))
        found.emplace(variable, scrubbed(value, 1024));
}

/// The variables of this process that may hide a GPU from programs started in the same shell.
Variables hiding_variables_here() {
    auto found = hiding_variables(::environ);
    for (auto& [name, value] : found)
        value = scrubbed(value, 1024);
    return found;
}

/// The libraries that this machine's dynamic linker finds. Nothing is known about a captured
/// machine's linker.
LinkerPlaces linker_of(const Arguments& arguments) {
    constexpr Bytes kMaxCache = mib(16);
    LinkerPlaces places{.is_here = !arguments.replay};
    struct utsname system {};
    if (arguments.replay || ::uname(&system) != 0)
        return places;
    if (const auto cache = RootedFiles{}.read(kLinkerCache, kMaxCache))
        if (auto found = cached_sonames(*cache, static_cast<const char*>(system.machine)))
            places.sonames = std::move(*found);
    return places;
}

/// The path in `--installed`, if its value is a file or folder and not names of variants.
std::optional<std::string> path_of_build(const Value& variants) {
    std::vector<std::string> words;
    if (!read_value(variants, words).empty() || words.empty())
        return std::nullopt;
    // The option is a list, so commas in a path have split it.
    const auto path = fmt::format("{}", fmt::join(words, ","));
    struct stat status {};
    const bool is_there = ::stat(path.c_str(), &status) == 0;
    return is_there || path.find('/') != std::string::npos ? std::optional{path} : std::nullopt;
}

/// Adds the properties of an installed build to a request: needed libraries, bundled libraries and
/// kernels for each backend.
void add_build(const InstalledBuild& build, Value& request) {
    for (const auto& part : build.parts) {
        request["needs"][part.name] = to_value(part.needs);
        request["bundles"][part.name] = to_value(part.bundles);
        request["kernels"][part.name] = to_value(part.kernels);
    }
    // A build without GPU backends uses the CPU.
    if (build.parts.empty() && !request.find("built"))
        request["built"] = Value::Array{Value{kCpu}};
}

}  // namespace

bool names_a_build(const Arguments& arguments) {
    return path_of_build(arguments.select.request.at("variant")).has_value();
}

Status read_build(const Arguments& arguments, Value& request) {
    const auto path = path_of_build(request.at("variant"));
    if (!path)
        return Done{};
    // Refuse these options, because they could contradict the properties of the files.
    for (const auto* key : {"needs", "bundles", "kernels"})
        if (request.find(key))
            return Error{ErrorCode::InvalidRequest,
                         phrase("--installed reads the data of --{option} from {path}: use only "
                                "one of the two options",
                                {{"path", scrubbed(*path)}, {"option", key}})};
    auto build = read_installed_build(*path, linker_of(arguments));
    if (!build)
        return std::move(build).error().in("--installed");
    std::erase_if(*request.as_object(), [](const auto& member) { return member.key == "variant"; });
    add_build(*build, request);
    for (const auto& unread : build->unread)
        remark(arguments, phrase("could not be read: {what}", {{"what", unread}}));
    return Done{};
}

bool wants_no_gpu(const Arguments& arguments) {
    const auto* backend = arguments.select.request.at("backend").as_string();
    return backend && (*backend == "none" || *backend == "off");
}

ApplicationSet known_applications(const Arguments& arguments) {
    auto folders = engine::application_folders(arguments.application_folders);
    folders.push_back(engine::KnowledgeFolders::below(arguments.knowledge_root).own +
                      "/applications");
    return engine::applications_in(folders);
}

std::map<std::string, std::string> switches_here(const Arguments& arguments,
                                                 const std::string& application) {
    Variables found;
    // The profile is looked up here even if a daemon makes the decision, because only this process
    // has the user's variables.
    for (const auto& variable : known_applications(arguments).integrating_variables(application))
        add_own(variable, found);
    return found;
}

Result<std::vector<std::string>> gpu_ids(Context& context,
                                         const std::vector<std::string>& selectors) {
    std::vector<std::string> ids;
    if (selectors.empty())
        return ids;
    const auto report = TRY(context.client.report());
    const ComputeView view{report};
    for (const auto& selector : selectors)
        ids.push_back(TRY(pick_gpu(view, selector))->id);
    return ids;
}

Status name_gpus_by_id(Context& context, Value& request) {
    std::vector<std::string> selectors;
    auto* const gpus = request.find("gpus");
    if (gpus && read_value(*gpus, selectors).empty())
        *gpus = to_value(TRY(gpu_ids(context, selectors)));
    return Done{};
}

Result<Decision> choose(Context& context, bool explains) {
    auto request = context.arguments.select.request;
    TRY(name_gpus_by_id(context, request));
    if (context.read_build)
        TRY(context.read_build(context.arguments, request));
    // Only users who build the application themselves need compiler flags.
    if (context.arguments.select.for_build)
        request["own-build"] = true;
    // The environment of this shell is the environment of the program that will be started.
    auto callers = hiding_variables_here();
    callers.merge(switches_here(context.arguments, context.arguments.select.application));
    if (!callers.empty())
        request["environment"] = to_value(callers);
    // Request the candidates too: if variables hide GPUs, the reasons may be about these variables.
    if (explains || !callers.empty())
        request["explain"] = true;
    return context.client.select(context.arguments.select.application, request);
}

ExitCode report_no_match(const Context& context, const Decision& decision) {
    auto no_match = no_match_of(decision);
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["error"] = to_value(context.worded(std::move(no_match)));
        print_json(context.arguments, document);
        return ExitCode::NoMatch;
    }
    const auto code =
        report_failure(context.arguments, {ErrorCode::NoMatch, no_match.failure.message});
    if (context.arguments.is_quiet)
        return code;
    // The explanation goes to standard error, because it isn't the answer that the user requested.
    const auto screen = screen_of(STDERR_FILENO, context.arguments.colour);
    OwnPlace own{context.client};
    print_error(application_text(decision, screen) + candidates_text(decision, own.get(), screen));
    return code;
}

}  // namespace gpuprobe::inline cli
