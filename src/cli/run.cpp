// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <unistd.h>

#include "cli/failure.h"
#include "cli/open_oracle.h"
#include "cli/verbs.h"

namespace gpuprobe {
namespace {

struct Verb {
    std::string_view name;
    Result<ExitCode> (*run)(Context&);
};
constexpr auto kVerbs = std::to_array<Verb>({{"status", run_status},
                                             {"list", run_list},
                                             {"show", run_show},
                                             {"describe", run_describe},
                                             {"select", run_select},
                                             {"env", run_env},
                                             {"plan", run_plan},
                                             {"probe", run_probe},
                                             {"monitor", run_monitor},
                                             {"doctor", run_doctor},
                                             {"capture", run_capture},
                                             {"override", run_override},
                                             {"report-outcome", run_report_outcome},
                                             {"recommend", run_recommend},
                                             {"export", run_export},
                                             {"quarantine", run_quarantine}});

/// What needs no machine.
struct PlainVerb {
    std::string_view name;
    Result<ExitCode> (*run)(const Arguments&);
};
constexpr std::array<PlainVerb, 5> kPlainVerbs = {{{"version", run_version},
                                                   {"consumers", run_consumers},
                                                   {"products", run_products},
                                                   {"verify", run_verify},
                                                   {"import-manifest", run_import_manifest}}};

Result<ExitCode> run_verb(const Arguments& arguments) {
    for (const auto& verb : kPlainVerbs)
        if (verb.name == arguments.verb)
            return verb.run(arguments);
    const auto oracle = TRY(open_oracle(arguments));
    auto screen = screen_of(STDOUT_FILENO, arguments.colour);
    screen.has_legend = arguments.has_legend;
    Context context{.arguments = arguments, .screen = screen, .oracle = *oracle};
    for (const auto& verb : kVerbs)
        if (verb.name == arguments.verb)
            return verb.run(context);
    return Error{ErrorCode::Internal, "verb " + arguments.verb + " has no function"};
}

/// Of a command line that could not be read as a whole.
bool asks_for_json(const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        return word == "-j" || word == "--json=short" || word == "--json=pretty";
    });
}

ExitCode refuse(const Refusal& refusal, const std::vector<std::string>& words) {
    std::fwrite(refusal.text.data(), 1, refusal.text.size(), refusal.is_help ? stdout : stderr);
    if (refusal.is_help)
        return ExitCode::Answered;
    constexpr std::string_view kLead = "gpuprobectl: ";
    const auto line = refusal.text.substr(0, refusal.text.find('\n'));
    const Error error{ErrorCode::InvalidRequest, line.substr(kLead.size())};
    if (asks_for_json(words))
        print_json(Arguments{.json = JsonMode::Short}, failure_document(error, {}));
    return ExitCode::Usage;
}

/// What is still buffered has to arrive: a full disk is a failure. (A reader that is gone has
/// already ended the process by SIGPIPE.)
int flushed(ExitCode code) {
    if (std::fflush(stdout) == 0)
        return static_cast<int>(code);
    std::perror("gpuprobectl: standard output");
    return static_cast<int>(ExitCode::Failed);
}

}  // namespace

int run(const std::vector<std::string>& words) {
    const auto parsed = parse_arguments(words, ::isatty(STDOUT_FILENO) == 1);
    if (parsed.refusal)
        return flushed(refuse(*parsed.refusal, words));
    const auto& arguments = *parsed.arguments;
    const auto done = run_verb(arguments);
    return flushed(done ? *done : report_failure(arguments, done.error()));
}

}  // namespace gpuprobe
