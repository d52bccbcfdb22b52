// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "unit/properties/fixture.h"
#include "unit/properties/shrink.h"

/// Tests a property on machines. Environment variables select more machines, or a single machine:
///
///     GPUPROBE_PROPERTY_MACHINES=100000  tests this many mixed machines after the recorded ones
///     GPUPROBE_PROPERTY_SEED=42          tests only the mixed machine with this seed
namespace gpuprobe::testing_properties {

constexpr std::uint64_t kUsualMachines = 2000;

inline std::optional<std::uint64_t> number_in(const char* variable) {
    const char* text = std::getenv(variable);
    return text ? parse_number<std::uint64_t>(text) : std::nullopt;
}

/// Stops at the first machine on which the property does not hold.
template <class Holds>
void check(const std::string& story, const Holds& holds, bool& is_sound) {
    SCOPED_TRACE(story);
    holds();
    is_sound = is_sound && !::testing::Test::HasFailure();
}

/// Calls `holds` with the recipe of each mixed machine. If the property does not hold on a machine,
/// stops and prints the parts that are needed to violate the property.
template <class Holds>
void on_mixed_machines(const Holds& holds) {
    const auto only = number_in("GPUPROBE_PROPERTY_SEED");
    const auto count = number_in("GPUPROBE_PROPERTY_MACHINES").value_or(kUsualMachines);
    for (auto seed = only.value_or(1); seed < only.value_or(count) + 1; ++seed) {
        const auto recipe = mixed(seed);
        if (holds_on(recipe, holds))
            continue;
        const auto least = shrunk(recipe, holds);
        SCOPED_TRACE(description_of(least));
        holds(least);
        return;
    }
}

/// Calls `holds` with each recorded machine, and then with each mixed machine.
template <class Holds>
void on_every_machine(const Holds& holds) {
    bool is_sound = true;
    if (!number_in("GPUPROBE_PROPERTY_SEED"))
        for (const auto& recorded : recorded_machines())
            if (is_sound)
                check(
                    recorded.name, [&] { holds(scene_of(recorded)); }, is_sound);
    if (is_sound)
        on_mixed_machines([&](const Recipe& recipe) { holds(scene_of(recipe)); });
}

}  // namespace gpuprobe::testing_properties
