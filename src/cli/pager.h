// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <sys/types.h>

namespace gpuprobe::inline cli {

/// False when somebody interrupted it.
bool sleep_for(std::chrono::milliseconds time);

/// The program through which a text on a terminal is read that is longer than the terminal:
/// $GPUPROBE_PAGER, $PAGER, or less where it is installed. "" and "cat" are none.
class Pager {
public:
    Pager() = default;
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;
    /// Waits until it has been left.
    ~Pager();
    /// Starts it, and standard output goes there. Where that fails, nothing changes.
    void start();

private:
    pid_t pid_ = -1;
};

}  // namespace gpuprobe::inline cli
