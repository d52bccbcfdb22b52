// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "base/parse.h"
#include "base/value_json.h"
#include "cli/known_products.h"
#include "cli/verbs.h"
#include "recommend/import_manifest.h"

namespace gpuprobe {

Result<ExitCode> run_import_manifest(const Arguments& arguments) {
    const auto& wanted = arguments.recommend;
    const auto release = TRY(text_of_file(*wanted.file, kMaxRelease));
    const auto overlay = TRY(text_of_file(*wanted.overlay, kMaxManifest));
    const auto imported = wanted.format == "unsloth" ? TRY(import_unsloth(release, overlay))
                                                     : TRY(import_github(release, overlay));
    for (const auto& skipped : imported.skipped)
        remark(arguments, "left out: " + scrubbed(skipped, 512));
    if (arguments.json == JsonMode::Off)
        print(json_pretty(imported.manifest));
    else
        print_json(arguments, imported.manifest);
    return ExitCode::Answered;
}

}  // namespace gpuprobe
