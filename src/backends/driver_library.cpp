// SPDX-License-Identifier: Apache-2.0
#include "backends/driver_library.h"

#include "backends/dynamic_library.h"
#include "base/record.h"

namespace gpuprobe::backends {

std::optional<Answer> without_library(const ProbeTarget& target) {
    if (!target.library)
        return std::nullopt;
    const auto library = DynamicLibrary::open(*target.library);
    if (library)
        return std::nullopt;
    const auto& problem = library.error();
    if (problem.code != ErrorCode::NotFound)
        return Answer{.outcome = Outcome::Failed, .note = problem.text};
    return Answer{.outcome = Outcome::Absent,
                  .note = problem.text,
                  .reasons = {because("driver-missing", {{"driver", target.driver},
                                                         {"library", *target.library},
                                                         {"note", problem.text}})}};
}

}  // namespace gpuprobe::backends
