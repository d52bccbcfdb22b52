// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/crew.h"

#include <algorithm>
#include <system_error>

#include <sched.h>

namespace gpuprobe::backends {
namespace {

/// Source: sched_getaffinity(2). It fails where there are more processors than
/// the set holds.
unsigned allowed_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0)
        return std::thread::hardware_concurrency();
    return static_cast<unsigned>(CPU_COUNT(&set));
}

}  // namespace

Crew::Crew() {
    const auto wanted = std::clamp(allowed_processors(), 1U, kMaxCrew);
    threads_.reserve(wanted);
    try {
        for (unsigned number = 1; number < wanted; ++number)
            threads_.emplace_back([this, number] { work(number); });
    } catch (const std::system_error&) {
        // Works with as many as there are.
    }
}

Crew::~Crew() {
    {
        const std::lock_guard lock{mutex_};
        is_over_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_)
        thread.join();
}

void Crew::run(const std::function<void(unsigned)>& job) {
    {
        const std::lock_guard lock{mutex_};
        job_ = &job;
        busy_ = size() - 1;
        ++turn_;
    }
    changed_.notify_all();
    job(0);
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return busy_ == 0; });
}

void Crew::work(unsigned number) {
    for (std::uint64_t seen = 0;;) {
        const std::function<void(unsigned)>* job = nullptr;
        {
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [&] { return is_over_ || turn_ != seen; });
            if (is_over_)
                return;
            seen = turn_;
            job = job_;
        }
        (*job)(number);
        const std::lock_guard lock{mutex_};
        if (--busy_ == 0)
            changed_.notify_all();
    }
}

}  // namespace gpuprobe::backends
