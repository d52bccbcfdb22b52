// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include <sched.h>

#include "backends/compute/device.h"
#include "backends/compute/stages.h"

namespace gpuprobe::backends {
namespace {

/// A pool of threads that repeatedly run the same job together.
class Crew {
public:
    /// Starts one thread for each processor that this process may use, at most kMaxCrew, and fewer
    /// if the system refuses to start more. The calling thread counts as one of these threads.
    Crew();
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(threads_.size()) + 1; }
    /// Runs `job` once for each number below size() and waits until all have ended. The job for a
    /// number always runs on the same thread.
    void run(const std::function<void(unsigned number)>& job);

    static constexpr unsigned kMaxCrew = 256;  ///< the systemd unit of workers allows 512 tasks

private:
    void work(unsigned number);

    std::mutex mutex_ = {};
    std::condition_variable changed_ = {};
    const std::function<void(unsigned)>* job_ = nullptr;
    std::uint64_t turn_ = 0;
    unsigned busy_ = 0;
    bool is_over_ = false;
    std::vector<std::thread> threads_ = {};
};

/// The number of processors that this process may use. sched_getaffinity(2) fails on machines with
/// more processors than the set can hold; in this case, returns the number of all processors.
unsigned allowed_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0)
        return std::thread::hardware_concurrency();
    return static_cast<unsigned>(CPU_COUNT(&set));
}

Crew::Crew() {
    const auto wanted = std::clamp(allowed_processors(), 1U, kMaxCrew);
    threads_.reserve(wanted);
    try {
        for (unsigned number = 1; number < wanted; ++number)
            threads_.emplace_back([this, number] { work(number); });
    } catch (const std::system_error&) {
        // Continue with the threads that were started.
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
    // The calling thread does its share, then waits for the others.
    job(0);
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return busy_ == 0; });
}

void Crew::work(unsigned number) {
    for (std::uint64_t seen = 0;;) {
        const std::function<void(unsigned)>* job = nullptr;
        {
            std::unique_lock lock{mutex_};
            // A new turn number means that there is a new job.
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

/// The processor as a compute device, whose buffers are in ordinary memory.
class CpuDevice final : public ComputeDevice {
public:
    CpuDevice()
        : ComputeDevice{{.free = free_host_memory(), .is_cpu = true, .has_host_copies = false}} {}

    Attempt<Done> allocate(Bytes size, Bytes staging) override;
    Attempt<Done> prepare(Kernel) override { return Done{}; }
    Attempt<Done> transfer(Direction direction,
                           Buffer buffer,
                           Bytes size,
                           std::uint32_t times) override;
    Attempt<Done> run(const Work& work) override;

private:
    /// The memory isn't initialized, so that the kernel allocates each page on the NUMA node of
    /// the thread that first writes it.
    using Words = std::unique_ptr<std::uint32_t[]>;

    [[nodiscard]] std::span<std::uint32_t> words(Buffer buffer) {
        return {buffers_[static_cast<std::size_t>(buffer)].get(), count_};
    }

    Crew crew_ = {};
    std::array<Words, 2> buffers_ = {};
    std::size_t count_ = 0;
    std::vector<std::byte> host_ = {};
};

Attempt<Done> CpuDevice::allocate(Bytes size, Bytes staging) {
    try {
        count_ = size.count / sizeof(std::uint32_t);
        for (auto& buffer : buffers_)
            buffer = std::make_unique_for_overwrite<std::uint32_t[]>(count_);
        host_.resize(staging.count);
        staging_ = host_;
    } catch (const std::bad_alloc&) {
        return Refusal{.code = "out-of-memory", .note = "the host has too little memory"};
    }
    return Done{};
}

Attempt<Done> CpuDevice::transfer(Direction direction,
                                  Buffer buffer,
                                  Bytes size,
                                  std::uint32_t times) {
    auto* const memory = words(buffer).data();
    for (std::uint32_t i = 0; i < times; ++i) {
        if (direction == Direction::ToDevice)
            std::memcpy(memory, staging_.data(), size.count);
        else
            std::memcpy(staging_.data(), memory, size.count);
    }
    return Done{};
}

Attempt<Done> CpuDevice::run(const Work& work) {
    const auto from = words(work.from);
    const auto to = words(other(work.from));
    // Thread N always gets the same range of groups, so that it works on memory near its processor.
    const auto share_of = [&](unsigned number) {
        return static_cast<std::uint32_t>(std::uint64_t{work.groups} * number / crew_.size());
    };
    for (std::uint32_t i = 0; i < work.times; ++i)
        crew_.run([&](unsigned number) {
            run_on_cpu(work.kernel, from, to, share_of(number), share_of(number + 1),
                       work.arguments);
        });
    return Done{};
}

}  // namespace

Answer visit_cpu(const ProbeTarget&, Sink&, const VisitDevice& visit) {
    const DeviceFacts facts{.index = 0, .type = DeviceType::Cpu};
    (void)visit(facts, []() -> Attempt<std::unique_ptr<ComputeDevice>> {
        return std::unique_ptr<ComputeDevice>{std::make_unique<CpuDevice>()};
    });
    return {};
}

}  // namespace gpuprobe::backends
