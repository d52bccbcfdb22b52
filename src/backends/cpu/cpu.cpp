// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu.h"

#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "backends/compute/device_choice.h"
#include "backends/compute/host_memory.h"
#include "backends/cpu/cpu_kernels.h"
#include "backends/cpu/crew.h"

namespace gpuprobe::backends {
namespace {

class CpuDevice final : public ComputeDevice {
public:
    CpuDevice() : limits_{.free = free_host_memory(), .is_cpu = true, .has_host_copies = false} {}

    [[nodiscard]] const ComputeLimits& limits() const override { return limits_; }
    Attempt<Done> allocate(Bytes size, Bytes staging) override;
    [[nodiscard]] std::span<std::byte> staging() override { return staging_; }
    Attempt<Done> prepare(Kernel) override { return Done{}; }
    Attempt<Done> transfer(Direction direction,
                           Buffer buffer,
                           Bytes size,
                           std::uint32_t times) override;
    Attempt<Done> run(const Work& work) override;

private:
    /// Not touched before its threads do: the pages then lie where they are
    /// worked on.
    using Words = std::unique_ptr<std::uint32_t[]>;

    [[nodiscard]] std::span<std::uint32_t> words(Buffer buffer) {
        return {buffers_[static_cast<std::size_t>(buffer)].get(), count_};
    }

    ComputeLimits limits_;
    Crew crew_ = {};
    std::array<Words, 2> buffers_ = {};
    std::size_t count_ = 0;
    std::vector<std::byte> staging_ = {};
};

Attempt<Done> CpuDevice::allocate(Bytes size, Bytes staging) {
    try {
        count_ = size.count / sizeof(std::uint32_t);
        for (auto& buffer : buffers_)
            buffer = std::make_unique_for_overwrite<std::uint32_t[]>(count_);
        staging_.resize(staging.count);
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

/// There is one, so that it need not be named.
ProbeTarget named(ProbeTarget target) {
    if (!target.device)
        target.device = "index:0";
    return target;
}

Answer visit_cpu(const ProbeTarget&, Sink&, const VisitDevice& visit) {
    const DeviceFacts facts{.index = 0, .type = DeviceType::Cpu};
    (void)visit(facts, []() -> Attempt<std::unique_ptr<ComputeDevice>> {
        return std::unique_ptr<ComputeDevice>{std::make_unique<CpuDevice>()};
    });
    return {};
}

}  // namespace

Answer verify_cpu(const ProbeTarget& target, Sink& sink) {
    return run_stage(visit_cpu, verify_device, named(target), sink);
}

Answer measure_cpu(const ProbeTarget& target, Sink& sink) {
    return run_stage(visit_cpu, measure_device, named(target), sink);
}

}  // namespace gpuprobe::backends
