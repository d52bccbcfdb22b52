// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "policy/truth.h"
#include "report/outcome.h"

/// Where several ways lead to the use of a GPU and none is open, one is told: the nearest.
namespace gpuprobe::inline policy {

/// How near a way is, by all the reasons that are in it. Ascending.
enum class Nearness : std::uint8_t {
    ForOthers,   ///< it is for other GPUs by nature, or nothing is said
    OtherBuild,  ///< only another build would do
    NoCause,     ///< nobody knows, or the device has too little of what is asked of it
    CanChange,   ///< a driver, a library, a permission or a setting is in it
};
Nearness nearness_of(const std::vector<Reason>& reasons);

/// Whether one of the reasons ends the question; the others leave it open, or remark.
bool has_end(const std::vector<Reason>& reasons);

/// One of several ways: an alternative of a requirement or of a predicate, a part of a build.
struct Way {
    Truth is_open = Truth::True;
    std::vector<Reason> reasons = {};  ///< what is in it, or perhaps
};
/// A way that may be open is nearer than one that is closed; of the same kind, the one in which
/// nearer things are, then fewer of them, then lower floors. For neither of two equal ones.
bool is_nearer(const Way& way, const Way& other);

/// Whether a floor of the first is lower than the other's under the same fact, and none higher.
bool wants_less(const std::vector<Reason>& reasons, const std::vector<Reason>& others);

/// Adds what is in a way. Of several floors under one fact the highest stays: a driver that is new
/// enough for it is so for all.
void add_obstacle(Reason reason, std::vector<Reason>& reasons);

}  // namespace gpuprobe::inline policy
