// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/files.h"
#include "cli/arguments.h"
#include "probe/launcher.h"
#include "probe/supervisor.h"
#include "watch/watcher.h"

namespace gpuprobe::inline cli {

/// Looks at a process and its descendants as long as it lives: forty times a second at
/// first, then ten, and less often where a look takes long. NVML is asked by a worker, and only
/// while one of them has an NVIDIA device open.
class DeviceWatch {
public:
    using Looked = std::function<void(const std::vector<watch::DeviceUse>&)>;

    /// `loop` and `report` must outlive it. `looked` is called after each look, from the loop.
    DeviceWatch(EventLoop& loop,
                const Arguments& arguments,
                const Report& report,
                pid_t root,
                std::string mark,
                Looked looked);

    [[nodiscard]] watch::Watcher& watcher() { return watcher_; }
    /// Whether what NVML has to say is known, or nobody needs it.
    [[nodiscard]] bool is_settled() const;
    /// NVML is being asked: its answer may tell of a process that has ended meanwhile.
    [[nodiscard]] bool is_asking() const { return is_asking_; }
    /// Looks no more; an answer that is under way still counts.
    void stop() { timer_.reset(); }

private:
    void look();
    void ask_nvml();

    EventLoop& loop_;
    const Arguments& arguments_;
    Looked looked_;
    RootedFiles files_ = RootedFiles{};
    SystemClock clock_ = {};
    watch::Watcher watcher_;
    MonotonicTime began_;
    Duration pause_;
    std::unique_ptr<Launcher> launcher_ = {};
    std::unique_ptr<Supervisor> supervisor_ = {};
    bool is_asking_ = false;
    bool was_asked_ = false;
    int refusals_ = 0;
    MonotonicTime last_ask_ = {};
    MonotonicTime next_ask_ = {};
    Duration ask_pause_;
    EventHandle timer_ = {};
};

}  // namespace gpuprobe::inline cli
