// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "base/parse.h"
#include "base/record.h"
#include "cli/decision_text.h"
#include "cli/recommendation.h"
#include "cli/recommendation_text.h"
#include "cli/shared_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "engine/consumer_folders.h"
#include "explain/explain.h"
#include "policy/environment.h"

namespace gpuprobe::inline cli {
namespace {

/// A mask is the caller's; the answer is about the hardware.
void warn_of_masks(const Arguments& arguments) {
    for (const auto name : hiding_variables())
        if (std::getenv(std::string{name}.c_str()))
            remark(arguments, fmt::format("{} is set here; the answer is for all GPUs", name));
}

/// The text of a file or of a pipe; "-" is standard input. A pipe gives it once only.
Result<std::string> manifest_text(const std::string& path) {
    // Not RootedFiles: that reads regular files alone, and a caller's pipe is a manifest too.
    const UniqueFd fd{path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
    if (!fd)
        return errno_error(path, errno);
    return read_to_end(fd, path, kMaxManifest);
}

/// The text of the manifest that the command line names, or nothing for the installed one.
Result<std::string> given_text(const RecommendArguments& arguments) {
    if (!arguments.manifest)
        return std::string{};
    auto text = TRY(manifest_text(*arguments.manifest));
    if (trimmed(text).empty())
        return Error{ErrorCode::Malformed, *arguments.manifest + ": empty"};
    return text;
}

/// The answer by a manifest's text or, without one, by the installed one of the product.
Result<Recommendation> recommended_by(Context& context, const std::string& text) {
    const auto& arguments = context.arguments.recommend;
    auto answer = context.client.recommend(arguments.product, text, arguments.request);
    if (!answer && arguments.manifest && answer.error().code == ErrorCode::Malformed)
        return std::move(answer).error().in(*arguments.manifest);
    return answer;
}

/// The artifact of a variant that somebody wants whatever the verdict, and what speaks against it.
Result<ExitCode> print_forced(Context& context,
                              const Recommendation& answer,
                              const std::string& text) {
    const auto& name = *context.arguments.recommend.force;
    const auto manifest =
        text.empty() ? TRY(wanted_manifest(context.arguments.recommend)) : TRY(parse_product(text));
    const Variant* variant = nullptr;
    for (const auto& platform : manifest.platforms)
        if (answer.platform == platform.key)
            variant = find_variant(platform, name);
    const auto candidate = std::ranges::find(answer.candidates, name, &VariantCandidate::variant);
    if (!variant || candidate == answer.candidates.end())
        return Error{ErrorCode::InvalidRequest,
                     fmt::format("--force: '{}' is no variant here", scrubbed(name, 64))};
    auto forced = answer;
    forced.variant = variant->name;
    forced.artifact = variant->artifact;
    forced.environment = variant->environment;
    forced.gpus = candidate->gpus;
    forced.fallback.clear();
    forced.candidates = {*candidate};
    if (context.wants_json()) {
        auto document = to_value(forced);
        document["forced"] = true;
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    if (candidate->verdict == Verdict::Rejected)
        remark(context.arguments, fmt::format("{} is forced, although: {}", scrubbed(name, 64),
                                              explained(*candidate).text));
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

/// What nobody could choose is not the answer: it goes to standard error.
void explain_nothing(const Context& context, const Recommendation& answer) {
    const auto screen = screen_of(STDERR_FILENO, context.arguments.colour);
    const auto text = "gpuprobectl: " + recommendation_text(answer, nullptr, screen) +
                      variants_text(answer, screen);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Result<Manifest> wanted_manifest(const RecommendArguments& arguments) {
    if (arguments.manifest) {
        auto manifest = parse_product(TRY(manifest_text(*arguments.manifest)));
        return manifest ? std::move(manifest) : std::move(manifest).error().in(*arguments.manifest);
    }
    const auto known = engine::consumers_in(engine::consumer_folders());
    if (const auto* product = known.product(arguments.product))
        return *product;
    return unknown_name(ErrorCode::NotFound, "no product", arguments.product, known.products());
}

Result<Recommendation> recommended(Context& context, const std::string& product) {
    return context.client.recommend(product, "", context.arguments.recommend.request);
}

Result<Recommendation> recommended(Context& context) {
    return recommended_by(context, TRY(given_text(context.arguments.recommend)));
}

namespace {

Result<ExitCode> run_recommend(Context& context) {
    const auto& arguments = context.arguments;
    const auto text = TRY(given_text(arguments.recommend));
    const auto answer = TRY(recommended_by(context, text));
    warn_of_masks(arguments);
    if (arguments.recommend.force)
        return print_forced(context, answer, text);
    if (context.wants_json()) {
        print_json(arguments, to_value(answer));
        return exit_code_of(answer);
    }
    if (arguments.is_quiet || arguments.recommend.chain) {
        print_names(answer, arguments.recommend.chain);
        return exit_code_of(answer);
    }
    if (!answer.variant) {
        explain_nothing(context, answer);
        return ExitCode::NoMatch;
    }
    // Only for the GPUs' names: without them their ids do.
    const auto report = context.client.report();
    print(recommendation_text(answer, report ? &*report : nullptr, context.screen));
    print(arguments.recommend.request.at("explain").as_bool() == true
              ? variants_text(answer, context.screen)
              : fixes_text(explained(answer.warnings).fixes, context.screen));
    return ExitCode::Answered;
}

Status check_recommend(Arguments& arguments) {
    const auto& recommend = arguments.recommend;
    if (recommend.product.empty() && !recommend.manifest)
        return refusal(
            "recommend: which product? 'gpuprobectl products' lists those that are known");
    return Done{};
}

}  // namespace

Verb recommend_verb() {
    return {
        .name = "recommend",
        .overview = {{"recommend PRODUCT",
                      "which of its variants to install, and why not the others"}},
        .usage = {"recommend PRODUCT [OPTION…]", "recommend [PRODUCT] --manifest=FILE [OPTION…]"},
        .about = R"(
The variant of PRODUCT that fits this machine, and what to try next. NAMES are of variants or of
families; family:NAME is the family alone. Exit status 3 when none fits.
)",
        .operands = {{.word = {.name = "PRODUCT", .names = kProducts},
                      .take = put<&Arguments::recommend, &RecommendArguments::product>}},
        .options = joined(variant_options(),
                          {explain_variants_option(),
                           {.names = "--chain",
                            .help = "the names alone, in the order in which to try them",
                            .take = put<&Arguments::recommend, &RecommendArguments::chain>},
                           {.names = "--force",
                            .value = {.name = "NAME"},
                            .help = "this variant whatever the verdict; says what speaks "
                                    "against it",
                            .take = put<&Arguments::recommend, &RecommendArguments::force>}}),
        .check = check_recommend,
        .run = run_recommend};
}

}  // namespace gpuprobe::inline cli
