// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "probe/spawn.h"
#include "probe/target.h"
#include "probe/worker_sandbox.h"

namespace gpuprobe::inline probe {

/// How a worker process ended.
struct WorkerExit {
    std::optional<int> code = {};
    std::optional<int> signal = {};
    /// User plus system time of the worker and of the children that it waited for.
    std::optional<Duration> processor_time = {};
    std::optional<Bytes> peak_memory = {};  ///< largest resident size among the same processes
    /// True if the program could not be started although launch() succeeded; another launch()
    /// returns the reason.
    bool never_ran = false;
};

/// The launcher's handle to one running worker. The destructor kills the worker. If the worker is
/// our own child and kill() wasn't called before, the destructor also waits at most 0.1 s for the
/// worker to end.
class Worker {
public:
    virtual ~Worker() = default;
    /// The non-blocking read end of the pipe for frames, which reaches end-of-file when all writers
    /// have closed the pipe; -1 after let_go().
    [[nodiscard]] virtual int frames() const = 0;
    /// The non-blocking read end of the pipe for stdout and stderr; -1 if the worker has no such
    /// pipe.
    [[nodiscard]] virtual int output() const = 0;
    /// A descriptor that becomes readable when reap() has work to do, at the latest when the worker
    /// has ended; -1 if only end-of-file on frames() reports the end.
    [[nodiscard]] virtual int ended() const = 0;
    /// How long the worker's first thread was runnable but had no CPU; zero if unknown.
    [[nodiscard]] virtual Duration waited_for_processor() const { return {}; }
    /// Closes frames(). A worker that has answered but keeps its driver loaded for other workers
    /// (kStays) ends when frames() is closed.
    virtual void let_go() {}
    /// Kills the worker and all processes that it started with SIGKILL. Never waits.
    virtual void kill() = 0;
    /// The exit status after the worker has ended; nullopt while the worker is running. Never
    /// waits. The worker's descendants end with the worker.
    [[nodiscard]] virtual std::optional<WorkerExit> reap() = 0;
};

/// The only argument of a worker that will read its arguments from stdin, each followed by a NUL.
/// Before the worker reads its arguments, it sets up the part of its sandbox that does not depend
/// on the driver (docs/security.md).
constexpr std::string_view kWaitsForJob = "--wait";

/// How long a worker that has answered keeps its driver loaded, unless let_go() ends it earlier.
constexpr std::chrono::milliseconds kStays{2000};

/// Starts workers: by fork and exec, or through systemd's socket.
class Launcher {
public:
    virtual ~Launcher() = default;
    /// Errors: ProbeFailed if the worker could not be started.
    [[nodiscard]] virtual Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) = 0;
    /// A hint that a worker will be needed soon. The launcher may start a worker that waits for its
    /// job and loads nothing until then.
    virtual void prepare() {}
    /// Ends a prepared worker that wasn't used.
    virtual void forget_prepared() {}
};

/// Starts workers as grandchildren of this process. Each worker has a parent process that reaps all
/// processes that the worker starts (worker_reaper.h), an environment that inherits no variables
/// (worker_sandbox.h), its own folder, its own namespaces if the machine allows them
/// (worker_sandbox.h), no stdin, and limits that drivers are known to work with. Runs do not share
/// any state.
class SpawnLauncher final : public Launcher {
public:
    /// `program`: path of gpuprobe-worker; a relative path is resolved in the constructor. `home`:
    /// the folder in which each run gets a folder; it is created if missing. "" means a temporary
    /// folder, which the destructor removes. `extra_environment`: added to each worker's
    /// environment, for tests and for installations whose drivers need LD_LIBRARY_PATH; our own
    /// environment isn't inherited.
    SpawnLauncher(std::string program,
                  std::string home,
                  std::map<std::string, std::string> extra_environment = {});
    ~SpawnLauncher() override;
    SpawnLauncher(const SpawnLauncher&) = delete;
    SpawnLauncher& operator=(const SpawnLauncher&) = delete;
    /// Blocks for a few milliseconds until the program runs. After a worker has started
    /// successfully, later calls don't wait; WorkerExit::never_ran then reports a failure.
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override;
    /// Like launch(), but frames and output are written to the caller's descriptors, which must
    /// come from raised() (spawn.h). The caller keeps these descriptors; the worker's frames() and
    /// output() are -1.
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch_into(const ProbeTarget& target,
                                                              int frames,
                                                              int output);
    /// Returns after a fork; the rest of the start takes 5 ms in the background. The prepared
    /// worker can be used only for targets without a driver manifest that need no other arguments,
    /// environment or namespaces.
    void prepare() override;
    void forget_prepared() override;

private:
    struct Prepared;

    [[nodiscard]] Status prepare_home();
    [[nodiscard]] Result<std::unique_ptr<Prepared>> prepared();
    [[nodiscard]] std::unique_ptr<Worker> take_prepared(const ProbeTarget& target);
    [[nodiscard]] Result<StartingProcess> start(SpawnOrder& order,
                                                const std::vector<std::string>& needed,
                                                bool is_apart);
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch_order(
        const ProbeTarget& target, int frames, int output, Pipe own_frames, Pipe own_output);

    std::string program_;
    std::string home_;
    std::map<std::string, std::string> extra_environment_;
    std::optional<RunFolder> temporary_ = {};  ///< the folder home_, if it is temporary
    bool has_namespaces_ = true;               ///< false after the machine has refused namespaces
    /// Whether the last worker ran with the current settings. The value is shared with the workers:
    /// a worker resets the value if the worker's program was never run.
    std::shared_ptr<bool> has_started_ = std::make_shared<bool>(false);
    std::unique_ptr<Prepared> prepared_;
    std::unique_ptr<Worker> forgotten_ = {};  ///< a worker that was killed but not yet reaped
};

}  // namespace gpuprobe::inline probe
