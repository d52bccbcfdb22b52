// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/truth.h"
#include "report/outcome.h"
#include "report/report.h"

/// Picks one of several unusable alternatives to report: the closest miss.

namespace gpuprobe::inline policy {

/// How close an alternative is to usable, judged by all its obstacles. Ascending.
enum class ClosestMiss : std::uint8_t {
    ForOthers,   ///< meant for other GPUs, or has no reason at all
    OtherBuild,  ///< only another build would help
    NoCause,     ///< the cause is unknown, or the device has too little of a resource
    CanChange,   ///< a driver, library, permission or setting can be changed
};
/// The nearness of an alternative with these obstacles.
ClosestMiss closest_miss_of(const std::vector<Reason>& reasons);

/// Whether one of the reasons rules the alternative out; other reasons leave it open or are only
/// remarks.
bool has_end(const std::vector<Reason>& reasons);

/// An alternative of a requirement or predicate, or a part of a build.
struct Route {
    Truth is_open = Truth::True;
    std::vector<Reason> reasons = {};  ///< its actual or possible obstacles
};
/// Whether `way` is a closer miss than `other`. A possibly usable alternative beats an unusable
/// one. Next come nearness, then fewer obstacles, then lower minimums. False for equal ones.
bool is_nearer(const Route& route, const Route& other);

/// Whether a minimum in the first list is lower than one for the same fact in the other, and no
/// minimum is higher.
bool wants_less(const std::vector<Reason>& reasons, const std::vector<Reason>& others);

/// Adds an obstacle. Only the highest of several minimums for one fact is kept: a driver that is
/// new enough for the highest is new enough for all.
void add_obstacle(Reason reason, std::vector<Reason>& reasons);

/// Explains why an answer leaves every GPU unused. Collects the rejected candidates for each GPU.
class UnusedGpu {
public:
    /// Adds a backend or variant, `by`, that must not be used on that GPU. Call it in order of
    /// preference for GPUs and candidates. Among equally close misses, the one with the lower
    /// minimums wins.
    void add(const Gpu& gpu, std::string_view by, std::vector<Reason> reasons);
    /// The warning "gpu-unused" for the GPU with the closest miss, with that candidate's reasons.
    /// nullopt if nothing was added, or if the caller itself caused it.
    [[nodiscard]] std::optional<Reason> warning() const;

private:
    /// The closest miss on one GPU so far.
    struct Entry {
        const Gpu* gpu = nullptr;
        std::optional<ClosestMiss> closest_miss = {};
        bool is_wished = false;
        std::string by = {};
        std::vector<Reason> reasons = {};
        /// Whether the GPU is worth a warning. If the user excluded a candidate, only changeable
        /// causes are.
        [[nodiscard]] bool counts() const {
            return closest_miss && (!is_wished || *closest_miss > ClosestMiss::OtherBuild);
        }
    };
    Entry& entry_of(const Gpu& gpu);

    std::vector<Entry> entries_ = {};
};

}  // namespace gpuprobe::inline policy
