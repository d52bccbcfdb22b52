// SPDX-License-Identifier: Apache-2.0
#include "cli/failure.h"

#include <string>

#include "base/record.h"
#include "base/text.h"
#include "calls/documents.h"

namespace gpuprobe::inline cli {
namespace {

// Messages may contain text from drivers and files.
constexpr std::size_t kMaxMessage = 4096;

}  // namespace

ExitCode exit_code_of(ErrorCode code, bool bus_was_named) {
    switch (code) {
        case ErrorCode::InvalidRequest:
            return ExitCode::Usage;
        case ErrorCode::NoMatch:
            return ExitCode::NoMatch;
        case ErrorCode::NotAuthorized:
            return ExitCode::NotAuthorized;
        case ErrorCode::Unavailable:
            return bus_was_named ? ExitCode::NoDaemon : ExitCode::Failed;
        default:
            return ExitCode::Failed;
    }
}

Value failure_document(const Error& error, const std::vector<Candidate>& candidates) {
    auto failure = failure_of(error);
    failure.candidates = candidates;
    Value document{Value::Object{}};
    document["error"] = to_value(failure);
    return document;
}

ExitCode report_failure(const Arguments& arguments,
                        const Error& error,
                        const std::vector<Candidate>& candidates) {
    if (arguments.json != JsonMode::Off) {
        print_json(arguments, failure_document(error, candidates));
    } else {
        print_error("gpuprobectl: " + scrubbed(error.text, kMaxMessage) + "\n");
    }
    return exit_code_of(error.code, arguments.bus.has_value());
}

}  // namespace gpuprobe::inline cli
