// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest-spi.h>

#include "unit/properties/recipe.h"

/// Finds the smallest machine on which a property does not hold.
namespace gpuprobe::testing_properties {

/// Whether the property holds. Prints nothing.
template <class Holds>
bool holds_on(const Recipe& recipe, const Holds& holds) {
    ::testing::TestPartResultArray results;
    {
        const ::testing::ScopedFakeTestPartResultReporter catcher{
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results};
        holds(recipe);
    }
    for (int i = 0; i < results.size(); ++i)
        if (results.GetTestPartResult(i).failed())
            return false;
    return true;
}

/// For each item that can be removed from the recipe, calls `use` with the recipe without this
/// item.
template <class Use>
void for_each_smaller(const Recipe& recipe, const Use& use) {
    const auto without = [&](auto list) {
        for (std::size_t i = 0; i < (recipe.*list).size(); ++i) {
            auto smaller = recipe;
            (smaller.*list).erase((smaller.*list).begin() + static_cast<std::ptrdiff_t>(i));
            use(smaller);
        }
    };
    without(&Recipe::parts);
    without(&Recipe::software);
    without(&Recipe::empty);
    for (const auto& [api, mishap] : recipe.mishaps) {
        auto smaller = recipe;
        smaller.mishaps.erase(api);
        use(smaller);
    }
    for (std::size_t i = 0; i < recipe.parts.size(); ++i)
        for (std::size_t j = 0; j < recipe.parts[i].records.size(); ++j) {
            auto smaller = recipe;
            auto& records = smaller.parts[i].records;
            records.erase(records.begin() + static_cast<std::ptrdiff_t>(j));
            use(smaller);
        }
    auto smaller = recipe;
    smaller.caller.reset();
    use(smaller);
    smaller = recipe;
    smaller.scores.reset();
    use(smaller);
}

inline std::size_t size_of(const Recipe& recipe) {
    std::size_t size = 0;
    for (const auto& part : recipe.parts)
        size += 1 + part.records.size();
    return size + recipe.software.size() + recipe.empty.size() + recipe.mishaps.size();
}

/// Removes everything that is not needed to violate the property.
template <class Holds>
Recipe shrunk(Recipe recipe, const Holds& holds) {
    std::optional<Recipe> next;
    do {
        next.reset();
        for_each_smaller(recipe, [&](const Recipe& smaller) {
            const bool is_smaller = smaller.caller != recipe.caller ||
                                    smaller.scores != recipe.scores ||
                                    size_of(smaller) < size_of(recipe);
            if (!next && is_smaller && !holds_on(smaller, holds))
                next = smaller;
        });
        if (next)
            recipe = std::move(*next);
    } while (next);
    return recipe;
}

/// Describes the recipe with one line for each part.
inline std::string description_of(const Recipe& recipe) {
    std::string text = recipe.story + "\nWhat of it is needed:";
    for (const auto& part : recipe.parts) {
        text += "\n  " + part.machine;
        if (part.hardware)
            text += " " + part.hardware->id + " [" + part.hardware->vendor_id.value_or("-") + ":" +
                    part.hardware->device_id.value_or("-") + "] by " +
                    part.hardware->driver.value_or("no driver");
        text += part.story + "; told by";
        for (const auto& record : part.records)
            text += " " + record.probe.api + ":" + record.probe.driver;
    }
    for (const auto& record : recipe.software)
        text += "\n  software: " + record.probe.api + " " + record.facts.name.value_or("-");
    for (const auto& probe : recipe.empty)
        text += "\n  no device: " + probe.api + ":" + probe.driver + " " +
                std::string{name_of(probe.outcome)};
    for (const auto& [api, mishap] : recipe.mishaps)
        text += "\n  mishap: " + api + " " + std::to_string(static_cast<int>(mishap));
    if (recipe.caller)
        text += "\n  asked by uid " + std::to_string(recipe.caller->uid);
    return text;
}

}  // namespace gpuprobe::testing_properties
