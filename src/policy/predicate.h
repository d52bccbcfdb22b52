// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/machine_fact.h"
#include "report/outcome.h"

/// Conditions as text: "driver>=550", "gfx=gfx90a|gfx11*", "compute-capability>=7.0 or
/// driver>=570", "gfx!=gfx8* or unknown". docs/profiles.md, "Predicates".
namespace gpuprobe {

constexpr std::size_t kMaxPredicate = 256;  ///< bytes of one
constexpr std::size_t kMaxPredicates = 32;  ///< in one list

/// What is wrong with it; nullopt when nothing is.
std::optional<std::string> predicate_problem(std::string_view text);

/// Whether each fact that it names is one of the machine, not of a GPU.
bool is_about_host(std::string_view predicate);

/// Whether a predicate holds; nullopt when that is not known.
struct Tested {
    std::optional<bool> holds = {};
    Reason why = {};  ///< unless it holds
};
/// Of alternatives that all fail or are not known, the last one says why.
Tested test_predicate(std::string_view predicate, const FactScope& scope);

/// True when all hold, false when one fails, otherwise nullopt.
std::optional<bool> test_all(const std::vector<std::string>& predicates, const FactScope& scope);

}  // namespace gpuprobe
