// SPDX-License-Identifier: Apache-2.0
#include "cli/choice.h"

#include <cstdlib>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "calls/documents.h"
#include "calls/surroundings.h"
#include "cli/decision_text.h"
#include "cli/failure.h"
#include "cli/pick_gpu.h"
#include "cli/terminal.h"
#include "engine/knowledge_base.h"
#include "explain/phrase.h"
#include "inventory/host.h"
#include "inventory/installed_build.h"
#include "policy/environment.h"

namespace gpuprobe::inline cli {
namespace {

using Variables = std::map<std::string, std::string>;

/// Adds a variable of this process, if it is set.
void add_own(const std::string& variable, Variables& found) {
    if (const char* value = std::getenv(variable.c_str()))
        found.emplace(variable, scrubbed(value, 1024));
}

/// The variables of this process that may hide a GPU from programs started in the same shell.
Variables hiding_variables_here() {
    Variables found;
    for (const auto name : hiding_variables())
        add_own(std::string{name}, found);
    return found;
}

Value no_match_document(const Decision& decision) {
    Value document{Value::Object{}};
    document["error"] = to_value(no_match_of(decision));
    return document;
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
void tell_build(const InstalledBuild& build, Value& request) {
    for (const auto& part : build.parts) {
        request["needs"][part.name] = to_value(part.needs);
        request["brings"][part.name] = to_value(part.brings);
        request["code"][part.name] = to_value(part.code);
    }
    // A build without GPU backends uses the CPU.
    if (build.parts.empty() && !request.find("built"))
        request["built"] = Value::Array{Value{kCpu}};
}

/// Replaces a path in `variant` with the properties of its files. The files are read here, because
/// the daemon may not be allowed to read them.
Status read_build(const Context& context, Value& request) {
    const auto path = path_of_build(request.at("variant"));
    if (!path)
        return Done{};
    // The options and the files would contradict each other.
    for (const auto* key : {"needs", "brings", "code"})
        if (request.find(key))
            return Error{
                ErrorCode::InvalidRequest,
                phrase("--installed reads from {path} what --{option} would say: give only "
                       "one of them",
                       {{"path", scrubbed(*path)}, {"option", key}})};
    auto build = read_installed_build(*path, linker_of(context.arguments));
    if (!build)
        return std::move(build).error().in("--installed");
    std::erase_if(*request.as_object(), [](const auto& member) { return member.key == "variant"; });
    tell_build(*build, request);
    for (const auto& unread : build->unread)
        remark(context.arguments, phrase("not read: {what}", {{"what", unread}}));
    return Done{};
}

}  // namespace

bool wants_no_gpu(const Arguments& arguments) {
    const auto* backend = arguments.select.request.at("backend").as_string();
    return backend && (*backend == "none" || *backend == "off");
}

std::map<std::string, std::string> switches_here(const std::string& consumer) {
    Variables found;
    // The profile is looked up here even if a daemon decides, because only this process has the
    // variables.
    const auto known = engine::consumers_in(engine::consumer_folders());
    if (const auto* profile = known.selection(consumer))
        for (const auto& [variable, values] : profile->integrated_by)
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
    TRY(read_build(context, request));
    // The environment of this shell is the environment of the program that will be started.
    auto callers = hiding_variables_here();
    callers.merge(switches_here(context.arguments.select.consumer));
    if (!callers.empty())
        request["environment"] = to_value(callers);
    // Send the candidates too: with masks, the reasons may be about the caller's variables.
    if (explains || !callers.empty())
        request["explain"] = true;
    return context.client.select(context.arguments.select.consumer, request);
}

ExitCode report_no_match(const Context& context, const Decision& decision) {
    if (context.wants_json()) {
        print_json(context.arguments, no_match_document(decision));
        return ExitCode::NoMatch;
    }
    const auto code =
        report_failure(context.arguments, nothing_satisfies(context.arguments.select.consumer));
    if (context.arguments.is_quiet)
        return code;
    // The explanation is not an answer, so it goes to standard error.
    const auto screen = screen_of(STDERR_FILENO, context.arguments.colour);
    const auto report = context.client.report();
    const auto findings = report ? own_findings(*report) : std::vector<Finding>{};
    const auto place = report ? own_place(*report, findings) : ReasonPlace{};
    print_error(consumer_text(decision, screen) + candidates_text(decision, place, screen));
    return code;
}

}  // namespace gpuprobe::inline cli
