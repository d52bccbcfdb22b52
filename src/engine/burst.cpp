// SPDX-License-Identifier: Apache-2.0
#include "engine/burst.h"

#include <algorithm>

namespace gpuprobe {

void Burst::event(MonotonicTime now) {
    if (!last_ || now - *last_ > kOver) {
        calm_ = settle_;
        window_ = 4 * settle_;
    }
    last_ = now;
    if (!first_)
        first_ = now;
}

std::optional<MonotonicTime> Burst::due() const {
    if (!first_)
        return std::nullopt;
    return std::min(*last_ + std::max(settle_, std::min(calm_, kLongestCalm)),
                    *first_ + std::max(settle_, std::min(window_, kLongestSettle)));
}

void Burst::looked() {
    first_.reset();
    calm_ = std::min(4 * calm_, kLongestCalm);
    window_ = std::min(8 * window_, kLongestSettle);
}

}  // namespace gpuprobe
