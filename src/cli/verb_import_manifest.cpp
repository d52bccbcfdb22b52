// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "base/parse.h"
#include "base/value_json.h"
#include "cli/known_products.h"
#include "cli/verbs.h"
#include "recommend/import_manifest.h"

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

}  // namespace

Result<ExitCode> run_import_manifest(const Arguments& arguments) {
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

}  // namespace gpuprobe
