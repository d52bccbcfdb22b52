// SPDX-License-Identifier: Apache-2.0
#include "cli/device_watch.h"

#include <algorithm>
#include <ctime>

#include "cli/own_workers.h"
#include "probe/spawn.h"

namespace gpuprobe::inline cli {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds{5};
/// A program that fails while starting may hold a context for only some 100 ms (CUDA on an H200).
constexpr Duration kStartPause = std::chrono::milliseconds{25};
constexpr Duration kUsualPause = std::chrono::milliseconds{100};
/// Looking takes at most 1/kShare of the time of one CPU.
constexpr int kShare = 20;
constexpr Duration kLongestPause = std::chrono::seconds{1};

/// A worker that queries NVML takes some 50 ms of CPU time, so it runs often only while a program
/// starts.
constexpr Duration kFirstAsk = std::chrono::milliseconds{100};
constexpr Duration kUsualAsk = std::chrono::milliseconds{200};
constexpr Duration kLateAsk = std::chrono::seconds{2};
constexpr Duration kStarts = std::chrono::seconds{15};
constexpr Duration kNvmlPatience = std::chrono::seconds{5};
constexpr int kMaxRefusals = 3;

/// The CPU time that this thread has used. Not the elapsed time: on a busy machine looking takes
/// longer but costs the same.
Duration processor_time() {
    timespec spent = {};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return std::chrono::seconds{spent.tv_sec} +
           std::chrono::duration_cast<Duration>(std::chrono::nanoseconds{spent.tv_nsec});
}

}  // namespace

DeviceWatch::DeviceWatch(EventLoop& loop,
                         const Arguments& arguments,
                         const Report& report,
                         pid_t root,
                         std::string mark,
                         Looked looked)
    : loop_{loop},
      arguments_{arguments},
      looked_{std::move(looked)},
      watcher_{files_, report, root, std::move(mark)},
      began_{clock_.monotonic()},
      pause_{kFirstPause},
      ask_pause_{kFirstAsk} {
    // From the loop, so that `looked` is never called during construction.
    timer_ = loop_.defer([this] { look(); });
}

bool DeviceWatch::is_settled() const {
    return !watcher_.wants_nvml() || was_asked_ || refusals_ >= kMaxRefusals;
}

void DeviceWatch::look() {
    const auto began = processor_time();
    const auto now = clock_.monotonic();
    const auto uses = watcher_.look(now);
    const auto took = processor_time() - began;
    const auto usual = now - began_ < kStarts ? kStartPause : kUsualPause;
    // Double the pause up to the usual one, and lengthen it further if looking is expensive.
    pause_ = std::min(std::max(std::min(pause_ * 2, usual), took * kShare), kLongestPause);
    timer_ = loop_.after(pause_, [this] { look(); });
    if (watcher_.wants_nvml())
        ask_nvml();
    looked_(uses);
}

void DeviceWatch::ask_nvml() {
    const auto now = clock_.monotonic();
    // Query at once for a new context, because it may be gone soon.
    const bool is_due = now >= next_ask_ || watcher_.untold_since() > last_ask_;
    if (is_asking_ || !is_due || refusals_ >= kMaxRefusals)
        return;
    last_ask_ = now;
    // The first query starts the supervisor of workers. Without a worker program, give up.
    if (!supervisor_) {
        auto workers = own_workers(arguments_.worker);
        if (!workers) {
            refusals_ = kMaxRefusals;
            return;
        }
        shut_out_workers();
        launcher_ = std::move(*workers);
        ProbeLimits limits;
        limits.query = limits.trial = kNvmlPatience;
        supervisor_ = std::make_unique<Supervisor>(loop_, *launcher_, clock_, limits);
    }
    is_asking_ = true;
    // The answer belongs to the moment of the question, `now`.
    const ProbeTarget target{.api = std::string{info_of(Api::Nvml).word},
                             .stage = std::string{kProcessesStage}};
    supervisor_->start(target, [this, now](const ProbeResult& answer) {
        is_asking_ = false;
        const bool is_answer = answer.outcome == Outcome::Answered;
        refusals_ = is_answer ? 0 : refusals_ + 1;
        was_asked_ |= is_answer;
        next_ask_ = now + ask_pause_;
        ask_pause_ = std::min(ask_pause_ * 2, now - began_ < kStarts ? kUsualAsk : kLateAsk);
        watcher_.add_nvml(answer, now);
    });
}

}  // namespace gpuprobe::inline cli
