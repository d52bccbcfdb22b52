// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "policy/truth.h"
#include "report/outcome.h"

/// Picks one of several unusable alternatives to report: the closest miss.
namespace gpuprobe::inline policy {

/// How close an alternative is to usable, judged by all its obstacles. Ascending.
enum class Nearness : std::uint8_t {
    ForOthers,   ///< meant for other GPUs by nature, or without any reason
    OtherBuild,  ///< only another build would help
    NoCause,     ///< the cause is unknown, or the device has too little of a resource
    CanChange,   ///< a driver, library, permission or setting can be changed
};
/// The nearness of an alternative with these obstacles.
Nearness nearness_of(const std::vector<Reason>& reasons);

/// Whether one of the reasons rules the alternative out; others leave it open or are remarks.
bool has_end(const std::vector<Reason>& reasons);

/// An alternative of a requirement or predicate, or a part of a build.
struct Way {
    Truth is_open = Truth::True;
    std::vector<Reason> reasons = {};  ///< its actual or possible obstacles
};
/// Whether `way` is a closer miss than `other`. A possibly usable alternative beats an unusable
/// one. Next come nearness, then fewer obstacles, then lower minimums. False for equal ones.
bool is_nearer(const Way& way, const Way& other);

/// Whether a minimum in the first list is lower than one for the same fact in the other, and no
/// minimum is higher.
bool wants_less(const std::vector<Reason>& reasons, const std::vector<Reason>& others);

/// Adds an obstacle. Only the highest of several minimums for one fact is kept: a driver that is
/// new enough for the highest is new enough for all.
void add_obstacle(Reason reason, std::vector<Reason>& reasons);

}  // namespace gpuprobe::inline policy
