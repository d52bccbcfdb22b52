// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/runtime_device.h"

#include "backends/compute/device.h"
#include "base/result.h"

namespace gpuprobe::backends {
namespace {

/// CUDA_ERROR_NOT_READY and hipErrorNotReady.
constexpr int kNotReady = 600;
/// CU_EVENT_DISABLE_TIMING and hipEventDisableTiming.
constexpr unsigned kDisableTiming = 2;

}  // namespace

Attempt<Done> RuntimeDevice::begin() {
    (void)TRY(call(api_.create_event, &end_event_, kDisableTiming));
    std::size_t free = 0;
    std::size_t total = 0;
    if (api_.memory_info.call(&free, &total) == 0)
        limits_.free = Bytes{free};
    return Done{};
}

/// Whatever a teardown answers, there is nothing left to do about it.
void RuntimeDevice::end() {
    for (auto* const module : modules_)
        if (module)
            (void)api_.unload_module.call(module);
    for (auto* const buffer : buffers_)
        if (buffer)
            (void)api_.free.call(buffer);
    if (!staging_.empty())
        (void)api_.free_host.call(staging_.data());
    if (end_event_)
        (void)api_.destroy_event.call(end_event_);
}

Attempt<Done> RuntimeDevice::allocate(Bytes size, Bytes staging) {
    for (auto& buffer : buffers_)
        (void)TRY(call(api_.allocate, &buffer, size.count));
    void* memory = nullptr;
    (void)TRY(call(api_.allocate_host, &memory, staging.count, 0U));
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return Done{};
}

Attempt<Done> RuntimeDevice::prepare(Kernel kernel) {
    auto& function = functions_[index_of(kernel)];
    if (function)
        return Done{};
    auto& module = modules_[group_of(kernel)];
    if (!module) {
        const auto* const image = TRY(image_of(kernel));
        (void)TRY(call(api_.load_module, &module, image));
    }
    return call(api_.function, &function, module, kKernelNames[index_of(kernel)]);
}

Attempt<Done> RuntimeDevice::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    auto* from = buffers_[static_cast<std::size_t>(work.from)];
    auto* to = buffers_[static_cast<std::size_t>(other(work.from))];
    auto arguments = work.arguments;
    std::array<void*, 5> parameters = {&from, &to, &arguments.rounds, &arguments.factor,
                                       &arguments.addend};
    auto* const function = functions_[index_of(work.kernel)];
    for (std::uint32_t i = 0; i < work.times; ++i)
        (void)TRY(call(api_.launch, function, work.groups, 1U, 1U, kGroupThreads, 1U, 1U, 0U,
                       nullptr, parameters.data(), nullptr));
    return finish();
}

Attempt<Done> RuntimeDevice::transfer(Direction direction,
                                      Buffer buffer,
                                      Bytes size,
                                      std::uint32_t times) {
    auto* const device = buffers_[static_cast<std::size_t>(buffer)];
    auto* const host = staging_.data();
    for (std::uint32_t i = 0; i < times; ++i) {
        if (direction == Direction::ToDevice)
            (void)TRY(call(api_.to_device, device, host, size.count, nullptr));
        else
            (void)TRY(call(api_.to_host, host, device, size.count, nullptr));
    }
    return finish();
}

/// By an event that is asked for: the wait for a whole context has no limit.
Attempt<Done> RuntimeDevice::finish() {
    (void)TRY(call(api_.record, end_event_, nullptr));
    return wait_until(
        [this]() -> Attempt<bool> {
            const int code = api_.query.call(end_event_);
            if (code != 0 && code != kNotReady)
                return refusal(api_.query.name, code);
            return code == 0;
        },
        Waiting::Spinning);
}

}  // namespace gpuprobe::backends
