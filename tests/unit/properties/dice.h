// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>

namespace gpuprobe::testing_properties {

/// A random generator that gives the same numbers for the same seed.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine_{seed} {}

    std::size_t below(std::size_t limit) { return engine_() % limit; }
    /// True once in the given number of calls, on average.
    bool once_in(std::size_t times) { return below(times) == 0; }
    template <class List>
    const auto& any_of(const List& list) {
        return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
    }
    template <class List>
    void shuffle(List& list) {
        std::ranges::shuffle(list, engine_);
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace gpuprobe::testing_properties
