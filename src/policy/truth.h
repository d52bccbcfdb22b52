// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/record.h"

namespace gpuprobe::inline policy {

/// Kleene's three-valued logic in ascending order: "and" is the minimum of two, "or" the maximum.
enum class Truth { False, Unknown, True };
constexpr std::array<EnumName<Truth>, 3> names_of(Truth) {
    return {{{Truth::False, "false"}, {Truth::Unknown, "unknown"}, {Truth::True, "true"}}};
}

constexpr Truth truth_of(bool value) {
    return value ? Truth::True : Truth::False;
}
/// Kleene's "and".
constexpr Truth both(Truth left, Truth right) {
    return std::min(left, right);
}
/// Kleene's "or".
constexpr Truth either(Truth left, Truth right) {
    return std::max(left, right);
}

/// The outcome for a candidate, either a backend on a GPU or a variant.
enum class Verdict {
    Accepted,
    Uncertain,  ///< a requirement is unknown and the variant accepts the risk
    Rejected,
    Unknown,  ///< a requirement is unknown, so the candidate is not chosen
};
constexpr std::array<EnumName<Verdict>, 4> names_of(Verdict) {
    return {{{Verdict::Accepted, "accepted"},
             {Verdict::Uncertain, "uncertain"},
             {Verdict::Rejected, "rejected"},
             {Verdict::Unknown, "unknown"}}};
}

/// Whether a candidate with this verdict can be chosen.
constexpr bool is_usable(Verdict verdict) {
    return verdict == Verdict::Accepted || verdict == Verdict::Uncertain;
}

/// A fact about a machine in one of three states: unknown, known to be absent, or known.
///
/// A term is unknown over an unknown fact and false over an absent one.
template <class T>
struct Fact {
    bool is_probed = false;
    std::optional<T> value = {};
    std::string text = {};  ///< the report's spelling if it differs from the value

    static Fact unknown() { return {}; }
    static Fact absent() { return {.is_probed = true}; }
    static Fact known(T fact) { return {.is_probed = true, .value = std::move(fact)}; }
    /// The known fact, or unknown if `fact` is nullopt.
    static Fact from(std::optional<T> fact) {
        return {.is_probed = fact.has_value(), .value = std::move(fact)};
    }
    bool operator==(const Fact&) const = default;
};

/// The result of `holds(value)`; false for an absent fact and unknown for an unknown one.
template <class T, class Holds>
Truth when_known(const Fact<T>& fact, Holds holds) {
    if (!fact.value)
        return fact.is_probed ? Truth::False : Truth::Unknown;
    return truth_of(holds(*fact.value));
}

}  // namespace gpuprobe::inline policy
