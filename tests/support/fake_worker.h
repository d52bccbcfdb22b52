// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/files.h"
#include "probe/launcher.h"

namespace gpuprobe::support {

/// A worker without a process. Its frames are already in the pipe, or a test writes them to the
/// pipe's other end.
class FakeWorker final : public Worker {
public:
    FakeWorker(UniqueFd frames,
               UniqueFd far_end,
               WorkerExit exit,
               std::shared_ptr<void> presence = nullptr)
        : frames_{std::move(frames)},
          far_end_{std::move(far_end)},
          exit_{exit},
          presence_{std::move(presence)} {}
    [[nodiscard]] int frames() const override { return frames_.get(); }
    [[nodiscard]] int output() const override { return -1; }
    [[nodiscard]] int ended() const override { return -1; }
    void kill() override {}
    [[nodiscard]] std::optional<WorkerExit> reap() override { return exit_; }

private:
    UniqueFd frames_ = {};
    UniqueFd far_end_ = {};  ///< kept open for workers that never end
    WorkerExit exit_ = {};
    std::shared_ptr<void> presence_ = {};  ///< shared with tests that count the workers
};

}  // namespace gpuprobe::support
