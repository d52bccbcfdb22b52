// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu.h"

#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "backends/compute/device.h"
#include "backends/compute/stages.h"
#include "backends/cpu/crew.h"

namespace gpuprobe::backends {
namespace {

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
    /// Left untouched until the threads use it, so that pages lie near the processor that works on
    /// them.
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
