// SPDX-License-Identifier: Apache-2.0
#include "backends/driver_library.h"

#include "base/record.h"

namespace gpuprobe::backends {

Asked<DynamicLibrary> open_library(const std::string& name, Sink& sink) {
    sink.phase("dlopen");
    auto library = DynamicLibrary::open(name);
    if (!library)
        return not_loaded(library.error());
    return *std::move(library);
}

Answer not_loaded(const Error& problem) {
    const bool is_absent = problem.code == ErrorCode::NotFound;
    return Answer{.outcome = is_absent ? Outcome::Absent : Outcome::Failed, .note = problem.text};
}

Value runtime_of(const DynamicLibrary& library) {
    return Value{Value::Object{{"loader", Value{library.path().value_or(library.name())}}}};
}

std::optional<Answer> without_library(const ProbeTarget& target) {
    if (!target.library)
        return std::nullopt;
    const auto library = DynamicLibrary::open(*target.library);
    if (library)
        return std::nullopt;
    auto answer = not_loaded(library.error());
    // The manifest is installed without its library: a packaging mistake that the user can fix.
    if (answer.outcome == Outcome::Absent)
        answer.reasons = {because("driver-missing", {{"driver", target.driver},
                                                     {"library", *target.library},
                                                     {"note", library.error().text}})};
    return answer;
}

}  // namespace gpuprobe::backends
