// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>

#include "base/profile.h"
#include "cli/verb.h"

namespace gpuprobe::inline cli {
namespace {

/// The name of a verb, and the function that returns its table. The function is null if this
/// profile leaves the verb out; the linker then drops the code of the verb.
struct Row {
    std::string_view name;
    Verb (*make)();
};

/// A verb that the profile "embed" leaves out.
constexpr Row only_full(std::string_view name, Verb (*make)()) {
    return {name, kIsEmbed ? nullptr : make};
}

/// The verbs, in the order of the help. The small gpuprobectl has a shorter list (front_main.cpp).
constexpr Row kRows[] = {
    // Ask
    {"status", status_verb},
    {"list", list_verb},
    {"show", show_verb},
    {"select", select_verb},
    {"recommend", recommend_verb},
    only_full("plan", plan_verb),
    {"doctor", doctor_verb},
    {"apps", applications_verb},
    // Start
    {"env", env_verb},
    only_full("run", run_verb),
    only_full("watch", watch_verb),
    // Record
    only_full("probe", probe_verb),
    only_full("bench", bench_verb),
    {"monitor", monitor_verb},
    only_full("capture", capture_verb),
    only_full("export", export_verb),
    only_full("report-outcome", report_outcome_verb),
    // Administer
    only_full("override", override_verb),
    only_full("quarantine", quarantine_verb),
    only_full("knowledge", knowledge_verb),
    // Advanced
    {"describe", describe_verb},
    only_full("check", check_verb),
    only_full("verify", verify_verb),
    only_full("selector", selector_verb),
    {"call", call_verb},
    {"version", version_verb},
    {"help", help_verb}};

}  // namespace

const std::vector<Verb>& verbs() {
    static const std::vector<Verb> all = [] {
        std::vector<Verb> made;
        for (const auto& row : kRows)
            if (row.make)
                made.push_back(row.make());
        return made;
    }();
    return all;
}

const Verb* find_verb(std::string_view name) {
    // Most command lines need one verb, so only the table of that verb is made.
    static std::map<std::string_view, Verb> made;
    const auto* row = std::ranges::find(kRows, name, &Row::name);
    if (row == std::end(kRows) || !row->make)
        return nullptr;
    if (!made.contains(row->name))
        made.emplace(row->name, row->make());
    return &made.at(row->name);
}

bool is_left_out(std::string_view verb) {
    return std::ranges::any_of(kRows,
                               [verb](const Row& row) { return row.name == verb && !row.make; });
}

}  // namespace gpuprobe::inline cli
