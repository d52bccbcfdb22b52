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
#include "probe/run_folder.h"
#include "probe/spawn.h"
#include "probe/target.h"

namespace gpuprobe::inline probe {

/// How a worker process ended.
struct WorkerExit {
    std::optional<int> code = {};
    std::optional<int> signal = {};
    /// User and system time together, of the worker and of the children that it waited for.
    std::optional<Duration> processor_time = {};
    std::optional<Bytes> peak_memory = {};  ///< resident, of the largest of them
    /// The program could not be started after all; launch() says why when it is asked once more.
    bool never_ran = false;
};

/// One running worker, as whoever started it sees it. Destroying it kills it and, for a child of
/// ours that nobody had killed before, waits a tenth of a second at most for its end.
class Worker {
public:
    virtual ~Worker() = default;
    /// Readable end of the worker's frames; non-blocking; end-of-file when no one can write any
    /// more; -1 once it is let go.
    [[nodiscard]] virtual int frames() const = 0;
    /// Readable end of the worker's stdout and stderr; non-blocking; -1 when there is none.
    [[nodiscard]] virtual int output() const = 0;
    /// Becomes readable when reap() has something to do, at the latest when the worker has ended;
    /// -1 when the end is only seen on frames().
    [[nodiscard]] virtual int ended() const = 0;
    /// How long its first thread was ready to run and had no processor; zero if nobody knows.
    [[nodiscard]] virtual Duration waited_for_processor() const { return {}; }
    /// Closes frames(): a worker that stays for others (kStays) sees that, and ends.
    virtual void let_go() {}
    /// Ends the worker, by SIGKILL, and everything it started. Never waits.
    virtual void kill() = 0;
    /// The exit status once ended; nullopt while it runs. Never waits. What the worker started goes
    /// with it.
    [[nodiscard]] virtual std::optional<WorkerExit> reap() = 0;
};

/// The worker's only argument where it is to take the others from stdin, a NUL after each; it holds
/// itself as it does before any driver (docs/sandbox.md), and reads then.
constexpr std::string_view kWaitsForJob = "--wait";

/// How long a worker stays that has answered, with its driver loaded, until it is let go.
constexpr std::chrono::milliseconds kStays{2000};

/// Starts workers: by fork and exec, or through systemd's socket.
class Launcher {
public:
    virtual ~Launcher() = default;
    /// Errors: ProbeFailed, when no worker could be started.
    [[nodiscard]] virtual Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) = 0;
    /// Says that a worker will be wanted soon: one may be started that waits to hear for what, and
    /// loads nothing before. It goes with forget_prepared(), if nobody wanted it.
    virtual void prepare() {}
    virtual void forget_prepared() {}
};

/// Workers as grandchildren of this process. Each has a keeper (keeper.h), which cleans up whatever
/// the worker starts, an environment made from nothing (worker_environment.h), a folder and, where
/// the machine gives them, namespaces of its own (namespaces.h), no stdin, and limits that drivers
/// are known to work with. Nothing of one run is there in the next.
class SpawnLauncher final : public Launcher {
public:
    /// `program`: path of gpuprobe-worker, from the current folder of this moment. `home`: where
    /// each run has its folder, made when missing;
    /// "" for a temporary one, which goes with the launcher. `extra_environment` is
    /// added to every worker's, for tests and for installations whose drivers need LD_LIBRARY_PATH;
    /// nothing is taken over from our own environment.
    SpawnLauncher(std::string program,
                  std::string home,
                  std::map<std::string, std::string> extra_environment = {});
    ~SpawnLauncher() override;
    SpawnLauncher(const SpawnLauncher&) = delete;
    SpawnLauncher& operator=(const SpawnLauncher&) = delete;
    /// Blocks until the program runs, some milliseconds, unless the last one did: then the exit
    /// tells (WorkerExit::never_ran).
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override;
    /// The same with frames and output to descriptors of the caller's, which are raised (spawn.h)
    /// and stay the caller's: the worker's own frames() and output() are -1.
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch_into(const ProbeTarget& target,
                                                              int frames,
                                                              int output);
    /// Returns after a fork: the rest of the start, five milliseconds, is beside whatever is done
    /// next. For a target that wants nothing else than every worker has.
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
    std::optional<RunFolder> temporary_ = {};  ///< home_, where it is ours to remove
    bool has_namespaces_ = true;               ///< as far as is known
    /// The last one ran, as they are started now; its worker takes that back.
    std::shared_ptr<bool> has_started_ = std::make_shared<bool>(false);
    std::unique_ptr<Prepared> prepared_;
    std::unique_ptr<Worker> forgotten_ = {};  ///< killed, until it has ended
};

}  // namespace gpuprobe::inline probe
