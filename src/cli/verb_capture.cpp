// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.h"

namespace gpuprobe {

Result<ExitCode> run_capture(Context& context) {
    const auto& arguments = context.arguments;
    const auto& folder = *arguments.capture_folder;
    TRY(context.oracle.capture(folder, arguments.redacts));
    if (arguments.json == JsonMode::Off) {
        remark(arguments, "written; 'gpuprobectl --replay " + folder + "' answers as this machine");
        return ExitCode::Answered;
    }
    Value document;
    document["capture"] = folder;
    document["redacted"] = arguments.redacts;
    print_json(arguments, document);
    return ExitCode::Answered;
}

}  // namespace gpuprobe
