// SPDX-License-Identifier: Apache-2.0
#include "backends/confinement.h"

#include <string>
#include <string_view>

#include "backends/call_filters.h"
#include "backends/landlock.h"
#include "report/confinement.h"

namespace gpuprobe::backends {

Confinement confine() {
    Confinement holds;
    if (is_alone())
        holds.by.emplace_back(confinement::kNamespaces);
    if (const auto version = confine_files())
        holds.by.push_back(std::string{confinement::kLandlock} + "-" + std::to_string(*version));
    else
        holds.problems.push_back(version.error().text);
    const auto take = [&holds](std::string_view word, const Status& done) {
        if (done)
            holds.by.emplace_back(word);
        else
            holds.problems.push_back(done.error().text);
    };
    take(confinement::kNoReachingOut, refuse_reaching_out());
    take(confinement::kKnownCalls, allow_known_calls());
    return holds;
}

}  // namespace gpuprobe::backends
