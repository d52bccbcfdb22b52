// SPDX-License-Identifier: Apache-2.0
#include "cli/verb_recommend.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/sha256.h"
#include "base/text.h"
#include "calls/surroundings.h"
#include "cli/choice.h"
#include "cli/context.h"
#include "cli/verb.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "policy/decision.h"
#include "policy/environment.h"
#include "policy/exports.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

Result<std::string> manifest_text(const std::string& path) {
    // RootedFiles can't be used, because it reads only regular files, and a manifest may also come
    // from a pipe.
    const UniqueFd fd{path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
    if (!fd)
        return errno_error(path, errno);
    return read_to_end(fd, path, kMaxManifest);
}

namespace {

/// Joins the words with commas.
std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words)
        text += (text.empty() ? "" : ", ") + scrubbed(word);
    return text;
}

/// The first URL or the reference of an artifact or companion file; "" if there is neither.
std::string location(const Value& file) {
    const auto* urls = file.at("urls").as_array();
    if (urls && !urls->empty() && urls->front().is_string())
        return scrubbed(*urls->front().as_string(), 2048);
    const auto* ref = file.at("ref").as_string();
    return ref ? scrubbed(*ref, 512) : "";
}

/// The artifact's type and location, "file https://…", and a line for each companion file.
std::string artifact_lines(const Value& artifact, const Screen& screen) {
    const auto* type = artifact.at("type").as_string();
    const auto words = (type ? scrubbed(*type) : std::string{}) + " " + location(artifact);
    auto text = hanging(screen, "  ", 2, trimmed(words));
    if (const auto* files = artifact.at("companion_files").as_array())
        for (const auto& file : *files)
            text += hanging(screen, "  ", 2, phrase("with {file}", {{"file", location(file)}}));
    return text;
}

/// The reason why there is no variant. The machine's platform may be unknown, as in many captures.
std::string_view refusal_words(const Recommendation& answer) {
    if (answer.status != RecommendStatus::NoPlatform)
        return "no variant fits";
    const bool is_unknown = std::ranges::find(answer.warnings, "platform-unknown", &Reason::code) !=
                            answer.warnings.end();
    return is_unknown
               ? "the platform of this machine is unknown, and builds differ between platforms"
               : "no variant supports this kind of machine";
}

/// The line with the command that installs the variant; "" if there is no such command.
std::string command_line(const Recommendation& answer) {
    const auto command = install_command(answer, Installer::Pip);
    return command.empty() ? "" : "  " + command + "\n";
}

}  // namespace

std::string install_command(const Recommendation& answer, Installer installer) {
    const bool is_uv = installer == Installer::Uv;
    const auto arguments = is_uv ? uv_arguments(answer, Rules::current()) : pip_arguments(answer);
    // A command needs the name of a package; the URL of the package index alone isn't enough.
    if (arguments.empty() || arguments.front().starts_with('-'))
        return "";
    std::string line = is_uv ? "uv pip install" : "pip install";
    for (const auto& argument : arguments)
        line += " " + scrubbed(shell_quoted(argument), 2048);
    return line;
}

std::string exclusion_text(const Recommendation& answer) {
    const auto* packages = answer.artifact.at("excludes").as_array();
    std::vector<std::string> names;
    for (std::size_t i = 0; packages && i < packages->size(); ++i)
        if (const auto* name = (*packages)[i].as_string())
            names.push_back(*name);
    return names.empty() ? ""
                         : phrase(
                               "uninstall {packages} first, if installed: pip does not detect that "
                               "the new package contains the same modules",
                               {{"packages", joined(names)}});
}

std::optional<std::string> closest_variant_text(const Recommendation& answer) {
    const auto closest = std::ranges::find(answer.warnings, "closest-variant", &Reason::code);
    return closest == answer.warnings.end() ? std::nullopt
                                            : std::optional{explained(*closest).text};
}

namespace {

/// The first line: the variant and its GPUs, or the refusal with the closest variant.
std::string headline(const Recommendation& answer, const Report* report, const Screen& screen) {
    if (!answer.variant)
        return hanging(
            screen, "", 0,
            phrase("{refusal}[; {closest}]", {{"refusal", std::string{refusal_words(answer)}},
                                              {"closest", closest_variant_text(answer)}}),
            Tone::Bad);
    const bool is_default = answer.status == RecommendStatus::DefaultUnverified;
    const bool is_uncertain = answer.verdict == Verdict::Uncertain;
    const auto sentence =
        is_default ? "{variant}[ on {gpus}] by default: no variant is known to fit"
        : is_uncertain
            ? "{variant}[ on {gpus}], perhaps: some facts that this variant depends on are unknown"
            : "{variant}[ on {gpus}]";
    const auto tone = is_default || is_uncertain ? Tone::Unsure : Tone::Good;
    return hanging(screen, "", 0,
                   phrase(sentence, {{"variant", toned(screen, tone, scrubbed(*answer.variant))},
                                     {"gpus", named_gpu_titles(answer.gpus, report, screen)}}));
}

/// The unknown facts that the chosen variant depends on; empty if the verdict is certain.
ExplainedList doubts(const Recommendation& answer, const ReasonPlace& place) {
    for (const auto& candidate : answer.candidates)
        if (answer.verdict == Verdict::Uncertain && candidate.variant == answer.variant)
            return explained(candidate, place);
    return {};
}

/// The fixes for the unknown facts and for the warnings.
std::vector<std::string> fixes_of(const Recommendation& answer, const ReasonPlace& place) {
    auto fixes = doubts(answer, place).fixes;
    for (const auto& fix : explained(answer.warnings, place).fixes)
        add_once(fixes, fix);
    return fixes;
}

/// The manifest's note on the chosen variant.
std::string note_on(const Recommendation& answer) {
    for (const auto& candidate : answer.candidates)
        if (candidate.variant == answer.variant && candidate.note)
            return scrubbed(*candidate.note, 1024);
    return "";
}

/// Shows a line such as "cu130 on NVIDIA H200 (pci:0000:00:06.0)", the place to download the
/// variant from, alternatives, notes and warnings. The names of GPUs come from `report`; if
/// `report` is null, the ids of the GPUs are printed. This function is pure.
std::string recommendation_text(const Recommendation& answer,
                                const Report* report,
                                const Screen& screen) {
    auto text = headline(answer, report, screen);
    if (!answer.artifact.is_null())
        text += artifact_lines(answer.artifact, screen) + command_line(answer);
    if (const auto exclusion = exclusion_text(answer); !exclusion.empty())
        text += hanging(screen, "  ", 2, exclusion);
    for (const auto& [name, value] : answer.environment)
        text += fmt::format("  {}={}\n", scrubbed(name), scrubbed(shell_quoted(value), 4096));
    if (!answer.fallback.empty())
        text += hanging(screen, "  then ", 7, joined(answer.fallback));
    if (const auto open = doubts(answer, {}).text; !open.empty())
        text += hanging(screen, "  " + toned(screen, Tone::Unsure, "?") + " ", 4, open);
    if (const auto note = note_on(answer); !note.empty())
        text += hanging(screen, "  ", 2, note);
    if (answer.hint)
        text += hanging(screen, "  ", 2, scrubbed(*answer.hint, 400));
    // The headline contains the closest variant.
    auto warnings = answer.warnings;
    std::erase_if(warnings, [](const Reason& warning) { return warning.is("closest-variant"); });
    return text + assumed_text(answer.assumed, screen) + warnings_text(warnings, screen);
}

/// Consecutive variants with the same sign and the same sentence.
struct VariantRow {
    std::string sign = {};
    std::string sentence = {};
    std::vector<std::string> names = {};
};

/// The rows as lines: a single variant in a column, several as a list in front of the sentence.
std::string variant_lines(const std::vector<VariantRow>& rows, const Screen& screen) {
    std::size_t width = 0;
    for (const auto& row : rows)
        if (row.names.size() == 1)
            width = std::max(width, display_width(row.names.front()));
    std::string text;
    for (const auto& row : rows) {
        const auto is_single = row.names.size() == 1;
        const auto lead = "  " + row.sign + "  ";
        const auto rest = is_single ? padded_right(row.names.front(), width) + "  " : "";
        text += hanging(screen, lead + rest, 5 + display_width(rest),
                        is_single ? row.sentence
                                  : phrase("{variants}: {why}", {{"variants", joined(row.names)},
                                                                 {"why", row.sentence}}));
    }
    return text;
}

/// A sentence for every variant, then the fixes that work at `place`. This function is pure.
std::string variants_text(const Recommendation& answer,
                          const ReasonPlace& place,
                          const Screen& screen) {
    auto fixes = fixes_of(answer, place);
    std::string text = "\n" + toned(screen, Tone::Strong, "Variants") + "\n";
    if (answer.candidates.empty())
        text += "  none\n";
    const auto chosen =
        std::ranges::find(answer.candidates, answer.variant,
                          [](const VariantCandidate& each) { return std::optional{each.variant}; });
    // Fixes are shown only for variants that the project prefers to the chosen variant.
    const auto is_preferred = [&](const VariantCandidate& candidate) {
        return chosen == answer.candidates.end() || std::pair{candidate.tier, candidate.priority} >
                                                        std::pair{chosen->tier, chosen->priority};
    };
    std::vector<VariantRow> rows;
    for (const auto& candidate : answer.candidates) {
        const auto why = explained(candidate, place);
        const auto sign = verdict_sign(candidate.verdict, candidate.reasons, screen);
        if (rows.empty() || rows.back().sign != sign || rows.back().sentence != why.text)
            rows.push_back({.sign = sign, .sentence = why.text});
        rows.back().names.push_back(scrubbed(candidate.variant));
        if (is_preferred(candidate))
            for (const auto& fix : why.fixes)
                add_once(fixes, fix);
    }
    return text + variant_lines(rows, screen) + fixes_text(fixes, screen);
}

/// Warns about variables that hide GPUs from this shell, because the answer is about all GPUs.
void warn_of_masks(const Arguments& arguments) {
    for (const auto& [name, value] : hiding_variables(::environ))
        remark(arguments, fmt::format("the environment variable {} may hide GPUs from programs, "
                                      "but this answer is for all GPUs",
                                      name));
}

/// The text of the manifest that the command line names; empty for the installed manifest.
Result<std::string> given_text(const RecommendArguments& arguments) {
    if (!arguments.manifest)
        return std::string{};
    auto text = TRY(manifest_text(*arguments.manifest));
    // An empty string would select the installed manifest.
    if (trimmed(text).empty())
        return Error{ErrorCode::Malformed, *arguments.manifest + ": empty"};
    return text;
}

/// The recommendation based on the manifest in `text`, or on the installed manifest if `text` is
/// empty.
Result<Recommendation> recommended_by(Context& context,
                                      const std::string& text,
                                      const Value& request) {
    const auto& arguments = context.arguments.recommend;
    Value parameters{Value::Object{{"application", arguments.application}, {"request", request}}};
    if (!text.empty())
        parameters["manifest"] = text;
    auto answer = context.client.ask_for<Recommendation>("Recommend", std::move(parameters));
    if (!answer && arguments.manifest && answer.error().code == ErrorCode::Malformed)
        return std::move(answer).error().in(*arguments.manifest);
    return answer;
}

/// Prints the artifact of a variant that the user forces, and a remark if the variant was rejected.
Result<ExitCode> print_forced(Context& context,
                              const Recommendation& answer,
                              const std::string& text) {
    const auto& name = *context.arguments.recommend.force;
    const auto manifest =
        text.empty() ? TRY(wanted_manifest(context.arguments)) : TRY(parse_manifest(text));
    const Variant* variant = nullptr;
    for (const auto& platform : manifest.platforms)
        if (answer.platform == platform.key)
            variant = find_variant(platform, name);
    const auto candidate = std::ranges::find(answer.candidates, name, &VariantCandidate::variant);
    if (!variant || candidate == answer.candidates.end())
        return Error{ErrorCode::InvalidRequest,
                     fmt::format("--force: no variant '{}' exists here", scrubbed(name, 64))};
    // Print the answer as if the variant had been chosen.
    auto forced = answer;
    forced.variant = variant->name;
    forced.artifact = variant->artifact;
    forced.environment = variant->environment;
    forced.gpus = candidate->gpus;
    forced.fallback.clear();
    forced.candidates = {*candidate};
    if (context.wants_json()) {
        auto document = to_value(context.worded(forced));
        document["forced"] = true;
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    if (candidate->verdict == Verdict::Rejected)
        remark(context.arguments,
               phrase("{variant} is forced, although gpuprobe rejects it: {why}",
                      {{"variant", scrubbed(name, 64)}, {"why", explained(*candidate).text}}));
    print(context.arguments.is_quiet ? scrubbed(*forced.variant) + "\n"
                                     : recommendation_text(forced, nullptr, context.screen));
    return ExitCode::Answered;
}

ExitCode exit_code_of(const Recommendation& answer) {
    return answer.variant ? ExitCode::Answered : ExitCode::NoMatch;
}

void print_names(const Recommendation& answer, bool all) {
    if (!answer.variant)
        return;
    print(scrubbed(*answer.variant) + "\n");
    if (all)
        for (const auto& name : answer.fallback)
            print(scrubbed(name) + "\n");
}

/// Explains on standard error why no variant fits. Standard output stays empty, because there is no
/// answer.
void explain_nothing(const Context& context, const Recommendation& answer) {
    const auto screen = screen_of(STDERR_FILENO, context.arguments.colour);
    OwnPlace own{context.client};
    print_error("gpuprobectl: " + recommendation_text(answer, nullptr, screen) +
                variants_text(answer, own.get(), screen));
}

}  // namespace

Result<Manifest> wanted_manifest(const Arguments& arguments) {
    const auto& wanted = arguments.recommend;
    if (wanted.manifest) {
        auto manifest = parse_manifest(TRY(manifest_text(*wanted.manifest)));
        return manifest ? std::move(manifest) : std::move(manifest).error().in(*wanted.manifest);
    }
    const auto known = known_applications(arguments);
    if (const auto* application = known.manifest(wanted.application))
        return *application;
    return known.no_manifest(wanted.application);
}

Result<Recommendation> recommended(Context& context, const std::string& application) {
    return context.client.ask_for<Recommendation>(
        "Recommend", Value::Object{{"application", application},
                                   {"request", context.arguments.recommend.request}});
}

Result<Recommendation> recommended(Context& context) {
    const auto& arguments = context.arguments.recommend;
    return recommended_by(context, TRY(given_text(arguments)), arguments.request);
}

namespace {

Result<ExitCode> run_recommend(Context& context) {
    const auto& arguments = context.arguments;
    const auto text = TRY(given_text(arguments.recommend));
    auto request = arguments.recommend.request;
    // Variables that make the application use more GPUs affect the answer.
    if (const auto switches = switches_here(arguments, arguments.recommend.application);
        !switches.empty())
        request["environment"] = to_value(switches);
    const auto answer = TRY(recommended_by(context, text, request));
    warn_of_masks(arguments);
    if (arguments.recommend.force)
        return print_forced(context, answer, text);
    if (context.wants_json()) {
        print_json(arguments, to_value(context.worded(answer)));
        return exit_code_of(answer);
    }
    const bool explains = arguments.recommend.request.at("explain").as_bool() == true;
    if ((arguments.is_quiet && !explains) || arguments.recommend.chain) {
        print_names(answer, arguments.recommend.chain);
        return exit_code_of(answer);
    }
    if (!answer.variant) {
        explain_nothing(context, answer);
        return ExitCode::NoMatch;
    }
    // The report is needed only for the names of GPUs and for fixes that fit this machine. Without
    // a report, ids and general fixes are printed.
    const auto report = context.client.report();
    print(recommendation_text(answer, report ? &*report : nullptr, context.screen));
    if (!explains && answer.warnings.empty() && doubts(answer, {}).fixes.empty())
        return ExitCode::Answered;
    const auto findings = report ? own_findings(*report) : std::vector<Finding>{};
    const auto place = report ? own_place(*report, findings) : ReasonPlace{};
    print(explains ? variants_text(answer, place, context.screen)
                   : fixes_text(fixes_of(answer, place), context.screen));
    return ExitCode::Answered;
}

Status check_recommend(Arguments& arguments) {
    const auto& recommend = arguments.recommend;
    if (recommend.application.empty() && !recommend.manifest)
        return refusal("recommend: missing APPLICATION; 'gpuprobectl apps' lists the applications");
    if (recommend.chain && arguments.json == JsonMode::Off &&
        recommend.request.at("explain").as_bool() == true)
        return refusal("recommend: --chain and --explain cannot be combined");
    return Done{};
}

}  // namespace

Verb recommend_verb() {
    return {
        .name = "recommend",
        .overview = {{"recommend APPLICATION", "choose the variant of an application to install"}},
        .usage = {"recommend APPLICATION [OPTION…]",
                  "recommend [APPLICATION] --manifest=FILE [OPTION…]"},
        .about = R"(
Chooses the variant of APPLICATION for this machine, and the variants to try next. NAMES is a list of
variants or families; family:NAME means only the family. The exit status is 3 if no variant fits.
)",
        .operands = {{.word = {.name = "APPLICATION", .names = kManifests},
                      .take = put<&Arguments::recommend, &RecommendArguments::application>}},
        .options = joined(
            variant_options(),
            {explain_variants_option(),
             {.names = "--chain",
              .help = "print only the names of the variants, in the order in which to try them",
              .take = put<&Arguments::recommend, &RecommendArguments::chain>},
             {.names = "--force",
              .value = {.name = "NAME"},
              .help = "use this variant even if gpuprobe rejects it, and print the reasons "
                      "against it",
              .take = put<&Arguments::recommend, &RecommendArguments::force>}}),
        .check = check_recommend,
        .run = run_recommend};
}

namespace {

/// The expected hash and size, from the manifest.
struct Expected {
    std::string sha256 = {};
    std::optional<std::uint64_t> size = {};
};

/// The actual hash and size of the file.
struct Found {
    std::string sha256 = {};
    std::uint64_t size = 0;
};

/// This machine's architecture, such as "x86_64".
std::string machine() {
    utsname names = {};
    return ::uname(&names) == 0 ? names.machine : "";
}

/// The variant `name` for this machine's architecture or, if there is none, for the only platform
/// that has such a variant.
Result<const Variant*> chosen_variant(const Manifest& manifest, const std::string& name) {
    std::vector<const Variant*> found;
    const auto here = machine();
    for (const auto& platform : manifest.platforms)
        if (const auto* variant = find_variant(platform, name)) {
            if (platform.arch == here)
                return variant;
            found.push_back(variant);
        }
    if (found.size() == 1)
        return found.front();
    return Error{ErrorCode::InvalidRequest,
                 phrase(found.empty() ? "the manifest has no variant '{name}'"
                                      : "the manifest has more than one variant named '{name}'",
                        {{"name", scrubbed(name, 64)}})};
}

/// The hash and size that the manifest contains for a variant. Placeholders need not be checked
/// here, because the manifest parser refuses placeholders.
Result<Expected> expected_of(const Variant& variant) {
    const auto* hash = variant.artifact.at("sha256").as_string();
    if (!hash)
        return Error{ErrorCode::Malformed,
                     fmt::format("variant '{}' has no sha256", scrubbed(variant.name, 64))};
    return Expected{.sha256 = *hash, .size = variant.artifact.at("size").as_unsigned()};
}

using File = CHandle<FILE, std::fclose>;

/// Hashes a file of any size, in blocks.
Result<Found> hashed(const std::string& path) {
    const File file{std::fopen(path.c_str(), "rbe")};
    if (!file)
        return errno_error(path, errno);
    Sha256 hash;
    Found found;
    std::array<char, 65536> piece = {};
    while (const auto count = std::fread(piece.data(), 1, piece.size(), file.get())) {
        hash.add({piece.data(), count});
        found.size += count;
    }
    if (std::ferror(file.get()) != 0)
        return errno_error(path, errno);
    found.sha256 = hash.take();
    return found;
}

/// How the file differs from the manifest; "" if there is no difference.
std::string difference(const Expected& expected, const Found& found) {
    if (expected.size && *expected.size != found.size)
        return phrase(
            "the file has {size} bytes, but the manifest expects {expected} bytes",
            {{"size", std::to_string(found.size)}, {"expected", std::to_string(*expected.size)}});
    if (expected.sha256 != found.sha256)
        return phrase("the SHA-256 of the file is {sum}, but the manifest expects {expected}",
                      {{"sum", found.sha256}, {"expected", expected.sha256}});
    return "";
}

Result<ExitCode> run_verify(const Arguments& arguments) {
    const auto& wanted = arguments.recommend;
    const auto manifest = TRY(wanted_manifest(arguments));
    const auto& variant = *TRY(chosen_variant(manifest, *wanted.variant));
    const auto expected = TRY(expected_of(variant));
    const auto found = TRY(hashed(*wanted.file));
    const auto problem = difference(expected, found);
    if (arguments.json != JsonMode::Off) {
        Value document{Value::Object{}};
        document["file"] = scrubbed(*wanted.file, 4096);
        document["variant"] = variant.name;
        document["matches"] = problem.empty();
        document["size"] = static_cast<unsigned long long>(found.size);
        document["sha256"] = found.sha256;
        document["expected_size"] =
            expected.size ? Value{static_cast<unsigned long long>(*expected.size)} : Value{};
        document["expected_sha256"] = expected.sha256;
        print_json(arguments, document);
        return problem.empty() ? ExitCode::Answered : ExitCode::Failed;
    }
    if (!problem.empty())
        return Error{ErrorCode::Malformed, scrubbed(*wanted.file, 512) + ": " + problem};
    if (!arguments.is_quiet)
        print(phrase("{file} is the variant {variant} of {application}",
                     {{"file", scrubbed(*wanted.file, 512)},
                      {"variant", variant.name},
                      {"application", manifest.name}}) +
              "\n");
    return ExitCode::Answered;
}

Status check_verify(Arguments& arguments) {
    const auto& recommend = arguments.recommend;
    if (!recommend.file || !recommend.manifest || !recommend.variant)
        return refusal("verify: FILE, --manifest and --variant are required");
    return Done{};
}

}  // namespace

Verb verify_verb() {
    return {.name = "verify",
            .group = VerbGroup::Advanced,
            .overview = {{"verify FILE", "check a downloaded file against a manifest"}},
            .usage = {"verify FILE --manifest=FILE --variant=NAME"},
            .about = R"(
Checks whether FILE has the size and the SHA-256 from the manifest.
)",
            .operands = {{.word = {.name = "FILE", .names = kFiles},
                          .take = put<&Arguments::recommend, &RecommendArguments::file>}},
            .options = {{.names = "--manifest",
                         .value = {.name = "FILE", .names = kFiles},
                         .help = "manifest that lists the variant",
                         .take = put<&Arguments::recommend, &RecommendArguments::manifest>},
                        {.names = "--variant",
                         .value = {.name = "NAME"},
                         .help = "name of the variant that FILE should contain",
                         .take = put<&Arguments::recommend, &RecommendArguments::variant>}},
            .check = check_verify,
            .run_alone = run_verify};
}

}  // namespace gpuprobe::inline cli
