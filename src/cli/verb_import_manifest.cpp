// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "base/parse.h"
#include "base/value_json.h"
#include "cli/known_products.h"
#include "cli/verbs.h"
#include "policy/import_manifest.h"

namespace gpuprobe {
namespace {

Result<ImportedManifest> imported_from(const RecommendArguments& wanted) {
    const auto list = TRY(text_of_file(*wanted.file, kMaxRelease));
    if (wanted.format == "localai")
        return import_localai(list, wanted.entry);
    const auto overlay = TRY(text_of_file(*wanted.overlay, kMaxManifest));
    return wanted.format == "unsloth" ? import_unsloth(list, overlay)
                                      : import_github(list, overlay);
}

Result<ExitCode> run(const Arguments& arguments) {
    const auto& wanted = arguments.recommend;
    const auto imported = TRY(imported_from(wanted));
    for (const auto& skipped : imported.skipped)
        remark(arguments, "left out: " + scrubbed(skipped, 512));
    if (arguments.json == JsonMode::Off)
        print(json_pretty(imported.manifest));
    else
        print_json(arguments, imported.manifest);
    return ExitCode::Answered;
}

Status check(Arguments& arguments) {
    const auto& recommend = arguments.recommend;
    if (!recommend.file || recommend.format.empty() ||
        (recommend.format != "localai" && !recommend.overlay))
        return refusal(
            "import-manifest: FILE, --format and --overlay are needed: names alone do not say "
            "what a build needs");
    if (recommend.format == "localai" && recommend.overlay)
        return refusal(
            "--overlay is for github and unsloth: LocalAI's list says itself what builds need");
    if (!recommend.entry.empty() && recommend.format != "localai")
        return refusal("--entry is for --format=localai");
    return Done{};
}

}  // namespace

Verb import_manifest_verb() {
    return {.name = "import-manifest",
            .overview = {{"import-manifest", "a manifest from another project's list of files"}},
            .usage = {"import-manifest --format=FORMAT [--overlay=FILE] [--entry=NAME] FILE"},
            .about = R"(
Prints a manifest made of another project's list of files, to be read before it is used. What no
rule of the overlay matches, or has no digest, is left out and named on standard error.
)",
            .operands = {{.word = {.name = "FILE", .names = kFiles},
                          .take = put<&Arguments::recommend, &RecommendArguments::file>}},
            .options = {{.names = "--format",
                         .value = {.name = "FORMAT",
                                   .offers = "github unsloth localai",
                                   .takes_others = false},
                         .help = "github: FILE is a release as the GitHub API gives it;\n"
                                 "unsloth: it is llama-prebuilt-manifest.json;\n"
                                 "localai: it is backend/index.yaml",
                         .take = put<&Arguments::recommend, &RecommendArguments::format>},
                        {.names = "--overlay",
                         .value = {.name = "FILE", .names = kFiles},
                         .help = "github: what the builds need, by patterns of their names "
                                 "(docs/variants.md); unsloth: llama-prebuilt-sha256.json",
                         .take = put<&Arguments::recommend, &RecommendArguments::overlay>},
                        {.names = "--entry",
                         .value = {.name = "NAME"},
                         .help = "localai: which backend; not needed when there is one only",
                         .take = put<&Arguments::recommend, &RecommendArguments::entry>}},
            .check = check,
            .run_alone = run};
}

}  // namespace gpuprobe
