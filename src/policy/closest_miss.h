// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/truth.h"
#include "report/outcome.h"
#include "report/report.h"

/// Picks the closest miss, which is the alternative that is reported if several alternatives are
/// unusable.

namespace gpuprobe::inline policy {

/// How close an alternative is to being usable, judged by all its obstacles; the values are in
/// ascending order.
enum class ClosestMiss : std::uint8_t {
    ForOthers,   ///< the alternative is meant for other GPUs, or has no reason
    OtherBuild,  ///< only a different build would help
    NoCause,     ///< the cause is unknown, or the device has too little of a resource
    CanChange,   ///< a driver, library, permission or setting can be changed
};
/// How close an alternative with the given obstacles is to being usable.
ClosestMiss closest_miss_of(const std::vector<Reason>& reasons);

/// The candidate that is the closest miss; `T` is Candidate or VariantCandidate. If several
/// candidates are equally close, the result is the first candidate with the highest `preference`.
/// The result is null if all candidates are for other GPUs.
template <class T, class Preference>
const T* closest_to_fit(const std::vector<T>& candidates, Preference preference) {
    const auto closest =
        std::ranges::max_element(candidates, {}, [&preference](const T& candidate) {
            return std::pair{closest_miss_of(candidate.reasons), preference(candidate)};
        });
    const bool is_close =
        closest != candidates.end() && closest_miss_of(closest->reasons) != ClosestMiss::ForOthers;
    return is_close ? &*closest : nullptr;
}

/// Whether at least one of the reasons rules out the alternative. Some reasons do not decide
/// whether the alternative is usable, and others are only remarks.
bool has_end(const std::vector<Reason>& reasons);

/// An alternative in a requirement or predicate, or a part of a build.
struct Route {
    Truth is_open = Truth::True;
    std::vector<Reason> reasons = {};  ///< actual or possible obstacles to the alternative
};
/// Whether `route` is a closer match than `other`. An alternative that may be usable is always a
/// closer match than an unusable alternative. Otherwise, the ClosestMiss value decides, then the
/// number of obstacles, then the minimums. The result is false if both alternatives match equally
/// well.
bool is_nearer(const Route& route, const Route& other);

/// Whether a minimum in the first list is lower than the minimum for the same fact in the second
/// list, and no minimum in the first list is higher.
bool wants_less(const std::vector<Reason>& reasons, const std::vector<Reason>& others);

/// Adds an obstacle. Of several minimums for one fact, only the highest is kept, because a driver
/// that is new enough for the highest minimum is new enough for all of them.
void add_obstacle(Reason reason, std::vector<Reason>& reasons);

/// Explains why an answer leaves all GPUs unused. Collects the candidates that were rejected on
/// each GPU.
class UnusedGpu {
public:
    /// Adds a backend or variant, `by`, that must not be used on a GPU. Call this function for GPUs
    /// and candidates in order of preference. Among equally close misses, the candidate with the
    /// lower minimums is kept.
    void add(const Gpu& gpu, std::string_view by, std::vector<Reason> reasons);
    /// The warning "gpu-unused" for the GPU with the closest miss, with the reasons against the
    /// closest candidate; nullopt if no candidate was added, or if the caller itself excluded the
    /// GPU.
    [[nodiscard]] std::optional<Reason> warning() const;

private:
    /// The closest miss that was found on one GPU.
    struct Entry {
        const Gpu* gpu = nullptr;
        std::optional<ClosestMiss> closest_miss = {};
        bool is_wished = false;
        std::string by = {};
        std::vector<Reason> reasons = {};
        /// Whether the GPU deserves a warning. If the user excluded a candidate, there is a warning
        /// only about causes that the user can change.
        [[nodiscard]] bool counts() const {
            return closest_miss && (!is_wished || *closest_miss > ClosestMiss::OtherBuild);
        }
    };
    Entry& entry_of(const Gpu& gpu);

    std::vector<Entry> entries_ = {};
};

}  // namespace gpuprobe::inline policy
