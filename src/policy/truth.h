// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/record.h"

namespace gpuprobe::inline policy {

/// Three-valued logic of Kleene, in ascending order: the lesser of two is both, the greater either.
enum class Truth { False, Unknown, True };
constexpr std::array<EnumName<Truth>, 3> names_of(Truth) {
    return {{{Truth::False, "false"}, {Truth::Unknown, "unknown"}, {Truth::True, "true"}}};
}

constexpr Truth truth_of(bool value) {
    return value ? Truth::True : Truth::False;
}
constexpr Truth both(Truth left, Truth right) {
    return std::min(left, right);
}
constexpr Truth either(Truth left, Truth right) {
    return std::max(left, right);
}

/// What becomes of a candidate, be it a backend on a GPU or a variant.
enum class Verdict {
    Accepted,
    Uncertain,  ///< something that must hold is not known, and the variant takes the risk
    Rejected,
    Unknown,  ///< something that must hold is not known, so it is not chosen
};
constexpr std::array<EnumName<Verdict>, 4> names_of(Verdict) {
    return {{{Verdict::Accepted, "accepted"},
             {Verdict::Uncertain, "uncertain"},
             {Verdict::Rejected, "rejected"},
             {Verdict::Unknown, "unknown"}}};
}

/// A fact about a machine: not known, known not to be there, or known.
///
/// A term over the first is unknown, over the second false.
template <class T>
struct Fact {
    bool is_probed = false;
    std::optional<T> value = {};
    std::string text = {};  ///< as the report writes it, where that differs from the value

    static Fact unknown() { return {}; }
    static Fact absent() { return {.is_probed = true}; }
    static Fact known(T fact) { return {.is_probed = true, .value = std::move(fact)}; }
    /// Not known when it is not given.
    static Fact from(std::optional<T> fact) {
        return {.is_probed = fact.has_value(), .value = std::move(fact)};
    }
    bool operator==(const Fact&) const = default;
};

/// Whether `holds(value)`; false for an absent fact, unknown for one that is not known.
template <class T, class Holds>
Truth when_known(const Fact<T>& fact, Holds holds) {
    if (!fact.value)
        return fact.is_probed ? Truth::False : Truth::Unknown;
    return truth_of(holds(*fact.value));
}

}  // namespace gpuprobe::inline policy
