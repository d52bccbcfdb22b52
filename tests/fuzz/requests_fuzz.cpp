// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "base/value.h"
#include "engine/probe_targets.h"
#include "fuzz/input.h"
#include "fuzz/known_report.h"
#include "policy/application_set.h"
#include "policy/override_rule.h"
#include "policy/recommend.h"
#include "policy/select.h"

namespace {

using namespace gpuprobe;

constexpr Bytes kMaxText = kib(64);

const Profile& profile_named(std::string_view name) {
    static const auto applications = ApplicationSet::with_builtins();
    const auto* profile = applications.selection(name);
    if (profile == nullptr)
        std::abort();
    return *profile;
}

void check_decision(const SelectRequest& request) {
    const auto& report = support::known_report();
    for (const auto* name : {"llama.cpp", "ollama", "torch"}) {
        const auto& profile = profile_named(name);
        const auto decision = select(profile, request, report);
        // An override rule with the same members allows nothing that the request does not allow.
        const auto ruled = select(profile, under_rule(request, request, profile, report), report);
        if (decision && ruled && !decision->backend && ruled->backend)
            std::abort();
    }
}

}  // namespace

/// Reads a caller's request in JSON with all readers, and makes the requested decisions on a laptop
/// with two GPUs.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto value = parse_json(support::text_of_input(data, size), kMaxText);
    if (!value)
        return 0;
    if (const auto request = select_request_from(*value))
        check_decision(*request);
    if (const auto request = recommend_request_from(*value))
        if (!(under_rule(*request, RecommendRequest{}) == *request))
            std::abort();
    (void)override_rule_from(*value);
    (void)engine::quarantine_filter_from(*value);
    return 0;
}
