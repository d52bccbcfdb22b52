// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "base/handle.h"
#include "base/result.h"
#include "probe/target.h"

namespace gpuprobe {

/// How a worker process ended.
struct WorkerExit {
    std::optional<int> code = {};
    std::optional<int> signal = {};
};

/// One running worker, as whoever started it sees it. Destroying it kills and reaps (or abandons)
/// it.
class Worker {
public:
    virtual ~Worker() = default;
    /// Readable end of the worker's frames; non-blocking; end-of-file when no one can write any
    /// more.
    [[nodiscard]] virtual int frames() const = 0;
    /// Readable end of the worker's stdout and stderr; non-blocking; -1 when there is none.
    [[nodiscard]] virtual int output() const = 0;
    /// Becomes readable when the worker has ended (a pidfd); -1 when the end is only seen on
    /// frames().
    [[nodiscard]] virtual int ended() const = 0;
    /// SIGKILL to the worker and everything it started. Never waits.
    virtual void kill() = 0;
    /// The exit status once ended; nullopt while it runs. Never waits.
    [[nodiscard]] virtual std::optional<WorkerExit> reap() = 0;
};

/// Starts workers: by fork and exec, or through systemd's socket.
class Launcher {
public:
    virtual ~Launcher() = default;
    /// Errors: ProbeFailed, when no worker could be started.
    [[nodiscard]] virtual Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) = 0;
};

/// Workers as children of this process, each in a process group of its own, with an environment
/// made from nothing, stdin and stdout closed off and limits that drivers are known to bear.
class SpawnLauncher final : public Launcher {
public:
    /// `program`: path of gpuprobe-worker. `cache_home`: a folder that drivers may write to, "" for
    /// a temporary one.
    SpawnLauncher(std::string program, std::string cache_home);
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override;

private:
    std::string program_;
    std::string cache_home_;
};

}  // namespace gpuprobe
