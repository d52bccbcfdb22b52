// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "backends/compute/device.h"
#include "backends/compute/stages.h"

namespace gpuprobe::backends {

/// A device whose computations are correct or have one fault.
class FakeDevice final : public ComputeDevice {
public:
    /// The word that a faulty kernel writes instead of the correct word.
    std::function<std::uint32_t(Kernel, std::uint32_t right)> spoil = {};
    /// The kernel that the device refuses.
    std::function<std::optional<Refusal>(const Work&)> refuse = {};
    ComputeLimits& can = limits_;
    std::size_t allocated = 0;
    bool* destroyed = nullptr;

    /// The device is a processor: on a busy machine, a piece of work may take a long time.
    FakeDevice()
        : ComputeDevice{{.free = mib(32), .is_cpu = true, .has_fp16 = true, .has_int8 = true}} {}
    ~FakeDevice() override {
        if (destroyed)
            *destroyed = true;
    }
    Attempt<Done> allocate(Bytes size, Bytes staging) override {
        for (auto& buffer : buffers_)
            buffer.assign(size.count / 4, 0);
        host_.assign(staging.count, std::byte{});
        staging_ = host_;
        allocated = 2 * size.count;
        return Done{};
    }
    Attempt<Done> prepare(Kernel) override { return Done{}; }
    Attempt<Done> transfer(Direction direction, Buffer which, Bytes size, std::uint32_t) override {
        auto* const device = buffer(which).data();
        if (direction == Direction::ToDevice)
            std::memcpy(device, staging_.data(), size.count);
        else
            std::memcpy(staging_.data(), device, size.count);
        return Done{};
    }
    Attempt<Done> run(const Work& work) override {
        if (refuse)
            if (auto refusal = refuse(work))
                return *std::move(refusal);
        for (std::uint32_t thread = 0; thread < work.groups * kGroupThreads; ++thread)
            run(work, thread);
        return Done{};
    }

private:
    std::vector<std::uint32_t>& buffer(Buffer which) {
        return buffers_[static_cast<std::size_t>(which)];
    }
    void set(const Work& work, std::size_t i, std::uint32_t word) {
        buffer(other(work.from))[i] = spoil ? spoil(work.kernel, word) : word;
    }
    void run(const Work& work, std::uint32_t thread) {
        const auto& from = buffer(work.from);
        const auto first = std::size_t{thread} * kWordsPerThread;  // any order is valid
        std::uint32_t sum = 0;
        switch (work.kernel) {
            case Kernel::Check:
                return set(work, thread, checked_word(from[thread]));
            case Kernel::Fill:
                for (std::size_t i = first; i < first + kWordsPerThread; ++i)
                    set(work, i,
                        static_cast<std::uint32_t>(i) *
                                static_cast<std::uint32_t>(work.arguments.factor) +
                            static_cast<std::uint32_t>(work.arguments.addend));
                return;
            case Kernel::Read:
                for (std::size_t i = first; i < first + kWordsPerThread; ++i)
                    sum += from[i];
                return set(work, thread, sum);
            case Kernel::Copy:
                for (std::size_t i = first; i < first + kWordsPerThread; ++i)
                    set(work, i, from[i]);
                return;
            default:
                return set(work, thread, arithmetic_word(work.kernel, thread, work.arguments));
        }
    }

    std::vector<std::uint32_t> buffers_[2] = {};
    std::vector<std::byte> host_ = {};
};

}  // namespace gpuprobe::backends
