// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "report/outcome.h"

namespace gpuprobe::inline report {

/// `stale-document`: what is known in that document has expired. `issued` and `expired` as it says
/// them.
inline Reason stale_document(const std::string& document,
                             const std::optional<std::string>& issued,
                             const std::string& expired) {
    return because("stale-document",
                   {{"document", document}, {"issued", to_value(issued)}, {"expired", expired}});
}

/// Those among a report's notes: what rests on the report rests on what they are about.
inline std::vector<Reason> stale_among(const std::vector<Reason>& notes) {
    std::vector<Reason> found;
    std::ranges::copy_if(notes, std::back_inserter(found),
                         [](const Reason& note) { return note.is("stale-document"); });
    return found;
}

}  // namespace gpuprobe::inline report
