// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "report/outcome.h"

namespace gpuprobe::inline report {

/// A `stale-document` reason: the data file `document` has expired. `issued` and `expired` are the
/// dates in that file.
inline Reason stale_document(const std::string& document,
                             const std::optional<std::string>& issued,
                             const std::string& expired) {
    return because("stale-document",
                   {{"document", document}, {"issued", to_value(issued)}, {"expired", expired}});
}

/// The `stale-document` reasons among a report's notes. Every answer that is based on the report
/// repeats them, because it is based on the same data files.
inline std::vector<Reason> stale_among(const std::vector<Reason>& notes) {
    std::vector<Reason> found;
    std::ranges::copy_if(notes, std::back_inserter(found),
                         [](const Reason& note) { return note.is("stale-document"); });
    return found;
}

}  // namespace gpuprobe::inline report
