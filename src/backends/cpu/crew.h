// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gpuprobe::backends {

/// Threads that do one thing together, again and again.
class Crew {
public:
    /// One for each processor that this process may run on, kMaxCrew at most,
    /// fewer where no more threads can be had; the calling thread is one of them.
    Crew();
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(threads_.size()) + 1; }
    /// Runs `job` once for each number below size(), each always on the same
    /// thread, and waits.
    void run(const std::function<void(unsigned number)>& job);

    static constexpr unsigned kMaxCrew = 256;  ///< a worker's unit allows 512 tasks

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

}  // namespace gpuprobe::backends
