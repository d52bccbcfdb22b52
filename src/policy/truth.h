// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/record.h"

namespace gpuprobe::inline policy {

/// The values of Kleene's three-valued logic in ascending order: "and" of two values is their
/// minimum, "or" is their maximum.
enum class Truth { False, Unknown, True };
constexpr std::array<EnumName<Truth>, 3> names_of(Truth) {
    return {{{Truth::False, "false"}, {Truth::Unknown, "unknown"}, {Truth::True, "true"}}};
}

constexpr Truth truth_of(bool value) {
    return value ? Truth::True : Truth::False;
}
/// Kleene's "and" of two truth values.
constexpr Truth both(Truth left, Truth right) {
    return std::min(left, right);
}
/// Kleene's "or" of two truth values.
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
/// A term about an unknown fact is unknown, and a term about an absent fact is false.
template <class T>
struct Fact {
    bool is_probed = false;
    std::optional<T> value = {};
    std::string text = {};  ///< the report's spelling if it differs from the value

    static Fact unknown() { return {}; }
    static Fact absent() { return {.is_probed = true}; }
    static Fact known(T fact) { return {.is_probed = true, .value = std::move(fact)}; }
    /// A known fact, or an unknown fact if `fact` is nullopt.
    static Fact from(std::optional<T> fact) {
        return {.is_probed = fact.has_value(), .value = std::move(fact)};
    }
    bool operator==(const Fact&) const = default;
};

/// The result of `holds(value)`; false for an absent fact and unknown for an unknown fact.
template <class T, class Holds>
Truth when_known(const Fact<T>& fact, Holds holds) {
    if (!fact.value)
        return fact.is_probed ? Truth::False : Truth::Unknown;
    return truth_of(holds(*fact.value));
}

}  // namespace gpuprobe::inline policy
