// SPDX-License-Identifier: Apache-2.0
#include "service/report_views.h"

#include <algorithm>

#include "base/value.h"

namespace gpuprobe::inline service {

/// Drops views of an older report. Compares the creation time as well, because a new report may
/// have the same generation: a change of free memory does not count as one.
void ReportViews::forget_older() {
    const auto& report = engine_.report();
    if (generation_ == report.generation && created_ == report.created)
        return;
    generation_ = report.generation;
    created_ = report.created;
    seen_.clear();
}

/// The cached view of the class `access`, created for `caller` if missing.
ReportViews::Seen& ReportViews::seen_by(const std::string& access, const Caller& caller) {
    const auto known = std::ranges::find(seen_, access, &Seen::access);
    if (known != seen_.end()) {
        seen_.splice(seen_.begin(), seen_, known);
        return seen_.front();
    }
    if (seen_.size() >= kMaxViews)  // drop the least recently used
        seen_.pop_back();
    seen_.push_front({.access = access, .report = as_seen_by(engine_.report(), caller)});
    return seen_.front();
}

View ReportViews::report_for(const Caller& caller) {
    forget_older();
    auto access = access_class(engine_.report(), caller);
    // The empty class may open the same nodes as the prober, so it sees the report unchanged.
    if (access.empty())
        return {.report = &engine_.report()};
    const auto& seen = seen_by(access, caller);
    return {.access = std::move(access), .report = &seen.report};
}

View ReportViews::of(const Caller& caller) {
    auto view = report_for(caller);
    if (view.access.empty()) {
        view.json = &engine_.report_json();
        return view;
    }
    // Encode the report once for each class, on the first request for JSON.
    auto& seen = seen_by(view.access, caller);
    if (seen.json.empty())
        seen.json = json_line(to_value(seen.report));
    view.json = &seen.json;
    return view;
}

}  // namespace gpuprobe::inline service
