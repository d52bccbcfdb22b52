// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <cstdio>
#include <string>

#include "base/value.h"
#include "cli/terminal.h"
#include "explain/explain.h"

namespace gpuprobe::inline cli {

void print(std::string_view text) {
    const auto shown = terminal_text(text);
    std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void print_error(std::string_view text) {
    const auto shown = terminal_text(text);
    std::fwrite(shown.data(), 1, shown.size(), stderr);
}

/// A reader that has gone away is not handled here: SIGPIPE has already ended the process.
ExitCode flushed(ExitCode code) {
    if (std::fflush(stdout) == 0)
        return code;
    std::perror("gpuprobectl: standard output");
    return ExitCode::Failed;
}

void print_json(const Arguments& arguments, const Value& document) {
    if (arguments.json == JsonMode::Short)
        print(json_line(document) + "\n");
    else
        print(json_pretty(document));
}

void remark(const Arguments& arguments, std::string_view text) {
    if (arguments.is_quiet)
        return;
    print_error("gpuprobectl: " + std::string{text} + "\n");
}

void warn(const Arguments& arguments, const std::vector<Reason>& warnings) {
    for (const auto& warning : warnings)
        remark(arguments, "warning: " + explained(warning).text);
}

}  // namespace gpuprobe::inline cli
