// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "probe/launcher.h"
#include "probe/supervisor.h"
#include "watch/watcher.h"

namespace gpuprobe::inline cli {

/// Watches the device use of a process and its descendants for as long as they live: forty times a
/// second at first, then ten times, and less often if looking takes long. NVML is queried by a
/// worker, only while one of the processes has an NVIDIA device open.
class DeviceWatch {
public:
    using Looked = std::function<void(const std::vector<watch::DeviceUse>&)>;

    /// Starts watching. `loop` and `report` must outlive this object. `looked` is called from the
    /// loop after each look. `root` and `mark`: see watch::Watcher.
    DeviceWatch(EventLoop& loop,
                const Arguments& arguments,
                const Report& report,
                pid_t root,
                std::string mark,
                Looked looked);

    [[nodiscard]] watch::Watcher& watcher() { return watcher_; }
    /// Whether NVML has answered, has failed too often, or is not needed.
    [[nodiscard]] bool is_settled() const;
    /// Whether NVML is being queried. The answer may be about a process that has ended meanwhile.
    [[nodiscard]] bool is_asking() const { return is_asking_; }
    /// Stops looking. An NVML query in progress still counts.
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
    // Time between two looks.
    Duration pause_;
    std::unique_ptr<Launcher> launcher_ = {};
    std::unique_ptr<Supervisor> supervisor_ = {};
    bool is_asking_ = false;
    bool was_asked_ = false;
    // NVML queries that failed in a row.
    int refusals_ = 0;
    MonotonicTime last_ask_ = {};
    MonotonicTime next_ask_ = {};
    // Time between two NVML queries.
    Duration ask_pause_;
    EventHandle timer_ = {};
};

}  // namespace gpuprobe::inline cli
