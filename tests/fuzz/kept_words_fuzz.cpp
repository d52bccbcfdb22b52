// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "fuzz/input.h"
#include "fuzz/kept_file.h"
#include "policy/override_rule.h"
#include "store/state_files.h"

namespace {

using namespace gpuprobe;

void check_overrides(std::string_view document) {
    static const support::KeptFile file{"overrides", "gpuprobe-overrides 1"};
    file.write(document);
    store::Overrides overrides{file.path()};
    if (!overrides.load())
        return;
    for (const auto& [application, entry] : overrides.all())
        (void)override_rule_from(entry.rule);
    if (!overrides.set("fuzz", {.rule = Value{Value::Object{}}}))
        return;  // the list is full
    store::Overrides again{file.path()};
    if (!again.load() || again.all() != overrides.all())
        std::abort();
}

void check_outcomes(std::string_view document) {
    static const support::KeptFile file{"outcomes", "gpuprobe-outcomes 1"};
    file.write(document);
    store::Outcomes outcomes{file.path()};
    if (!outcomes.load())
        return;
    const auto entries = outcomes.all();
    for (const auto& entry : entries)
        (void)outcomes.counting_for(entry.uid, entry.application, WallTime{});
    if (!outcomes.failed({.uid = 7, .application = "fuzz", .choice = "cuda", .fingerprint = "f"}))
        return;
    store::Outcomes again{file.path()};
    if (!again.load() || again.all() != outcomes.all())
        std::abort();
}

}  // namespace

/// Reads stored overrides and outcomes. What this process stores, the next process must be able to
/// read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto document = support::text_of_input(data, size);
    check_overrides(document);
    check_outcomes(document);
    return 0;
}
