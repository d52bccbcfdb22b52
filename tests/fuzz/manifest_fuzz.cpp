// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "base/value.h"
#include "fuzz/input.h"
#include "fuzz/known_report.h"
#include "policy/application_set.h"
#include "policy/recommend.h"

namespace {

using namespace gpuprobe;

const Rules& rules() {
    static const auto builtin = Rules::builtin();
    if (!builtin)
        std::abort();
    return *builtin;
}

/// Checks that the same manifest gives the same answer each time.
void check_answer(const Manifest& manifest) {
    const auto& report = support::known_report();
    const auto answer = recommend(manifest, {}, report, rules());
    if (json_line(to_value(answer)) !=
        json_line(to_value(recommend(manifest, {}, report, rules()))))
        std::abort();
}

}  // namespace

/// Reads an application and a manifest, as from a request or a file, and recommends a variant for a
/// laptop with two GPUs.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = support::text_of_input(data, size);
    auto applications = ApplicationSet::with_builtins();
    const bool is_added = static_cast<bool>(applications.add(text, "fuzz"));
    const auto manifest = parse_manifest(text);
    if (is_added && !manifest && !parse_application(text)->selection)
        std::abort();
    if (!manifest)
        return 0;
    (void)staleness(*manifest, WallTime{});
    check_answer(*manifest);
    return 0;
}
