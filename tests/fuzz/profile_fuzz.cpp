// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "base/value.h"
#include "fuzz/input.h"
#include "fuzz/known_report.h"
#include "policy/select.h"

/// Reads the policy of an application, and decides on a laptop with two GPUs. The decision must be
/// the same after the policy has been written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const auto value = parse_json(support::text_of_input(data, size), kib(64));
    Profile profile;
    if (!value || !read_profile(*value, profile, UnknownWords::Lose).empty())
        return 0;
    Profile again;
    if (!read_profile(to_value(profile), again, UnknownWords::Lose).empty() || !(again == profile))
        std::abort();
    const auto& report = support::known_report();
    const auto decision = select(profile, {}, report);
    const auto twice = select(again, {}, report);
    if (!decision || !twice || json_line(to_value(*decision)) != json_line(to_value(*twice)))
        std::abort();
    return 0;
}
