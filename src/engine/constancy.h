// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include "report/facts.h"

namespace gpuprobe {

/// The reason of a driver that answers differently each time: {driver, since_usec}.
constexpr ReasonCode kUnstable = "unstable";

/// Tells a driver that answers differently each time from one whose machine has changed.
///
/// What has changed says the same twice. So where an answer differs from the last one of the same
/// machine, the driver is asked once more, and where that differs again, the driver is unstable:
/// then what promises less is believed, until it has said the same three times on end.
class Constancy {
public:
    struct Heard {
        ProbeResult believed = {};
        bool is_doubtful = false;  ///< ask once more
    };
    /// `answer` is the newest one; `believed` what was believed until now, null where nothing was.
    /// What is believed of an unstable driver has the reason kUnstable.
    /// Answers to a query alone are compared, and of these only those that came whole.
    [[nodiscard]] Heard hear(ProbeResult answer, const ProbeResult* believed);
    /// The machine has changed, and so may answers.
    void forget() { last_.clear(); }

private:
    struct Last {
        std::string said = {};
        int times = 1;  ///< on end
        bool is_doubted = false;
    };
    /// By API and driver.
    std::map<std::pair<std::string, std::string>, Last> last_ = {};
};

}  // namespace gpuprobe
