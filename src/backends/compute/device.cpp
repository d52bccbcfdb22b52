// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/device.h"

#include <chrono>

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

/// How long to poll without sleeping. Every batch of the sampler ends within 50 ms; the
/// end of longer work need not be detected to the microsecond.
constexpr std::chrono::milliseconds kSpin{50};
constexpr timespec kNap = {.tv_sec = 0, .tv_nsec = 20'000};

void nap() {
    ::nanosleep(&kNap, nullptr);
}

}  // namespace

ComputeLimits limits_from(const DeviceFacts& facts, const char* fp16_key) {
    const bool is_cpu = facts.type == DeviceType::Cpu;
    const auto reported = facts.memory ? facts.memory->free : std::nullopt;
    // OpenCL, Level Zero and Vulkan report these limits under the same keys; if a fact is missing,
    // the limit is unknown.
    const auto largest = facts.extra.at("max_memory_allocation_size").as_unsigned();
    return ComputeLimits{
        .free = is_cpu ? free_host_memory() : reported,
        .max_buffer = largest ? std::optional{Bytes{*largest}} : std::nullopt,
        .is_cpu = is_cpu,
        .has_fp16 = facts.extra.at(fp16_key).as_bool().value_or(false),
        .has_int8 = facts.extra.at("integer_dot_product").as_bool().value_or(false)};
}

std::optional<Bytes> free_host_memory() {
    const auto text = RootedFiles{}.read("/proc/meminfo", kib(64));
    const auto line = text ? value_of_line(*text, "MemAvailable") : std::nullopt;
    const auto pieces = words(line.value_or(std::string_view{}));
    const auto kilobytes = pieces.empty() ? std::nullopt : parse_number<std::uint64_t>(pieces[0]);
    return kilobytes ? std::optional{kib(*kilobytes)} : std::nullopt;
}

Attempt<Done> wait_until(const std::function<Attempt<bool>()>& is_done, Waiting how) {
    using Steady = std::chrono::steady_clock;
    // Without PR_SET_TIMERSLACK, the kernel extends every sleep by up to 50 µs. Source: prctl(2),
    // PR_SET_TIMERSLACK.
    (void)::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    const auto begin = Steady::now();
    while (!TRY(is_done())) {
        const auto waited = Steady::now() - begin;
        if (waited > max_wait(how))
            return dispatch_timed_out(how);
        // Poll without sleeping at first, but let other threads run.
        if (how == Waiting::Sleeping || waited > kSpin)
            nap();
        else
            ::sched_yield();
    }
    return Done{};
}

Refusal dispatch_timed_out(Waiting how) {
    const auto limit = max_wait(how);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
    return Refusal{.code = "dispatch-timed-out",
                   .note = "the device did not finish within " + std::to_string(seconds) + " s",
                   .detail = Value{Value::Object{{"limit_usec", to_value(limit)}}}};
}

namespace {

/// CUDA_ERROR_NOT_READY and hipErrorNotReady, the error code of an event that has not been reached
/// yet.
constexpr int kNotReady = 600;
/// The value of CU_EVENT_DISABLE_TIMING and of hipEventDisableTiming.
constexpr unsigned kDisableTiming = 2;

}  // namespace

Attempt<Done> RuntimeDevice::begin(Owned<void*> context) {
    context_ = std::move(context);
    // The event needs no timing, because it only marks the end of submitted work.
    void* event = nullptr;
    (void)TRY(tried(api_.create_event, &event, kDisableTiming));
    end_event_ = {event, api_.destroy_event};
    // Query the free memory again within the context: the context itself uses some of the memory.
    std::size_t free = 0;
    std::size_t total = 0;
    if (api_.memory_info(&free, &total) == 0)
        limits_.free = Bytes{free};
    return Done{};
}

Attempt<Done> RuntimeDevice::allocate(Bytes size, Bytes staging) {
    void* memory = nullptr;
    for (auto& buffer : buffers_) {
        (void)TRY(tried(api_.allocate, &memory, size.count));
        buffer = {memory, api_.free};
    }
    (void)TRY(tried(api_.allocate_host, &memory, staging.count, 0U));
    host_ = {memory, api_.free_host};
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return Done{};
}

Attempt<Done> RuntimeDevice::prepare(Kernel kernel) {
    auto& function = functions_[index_of(kernel)];
    if (function)
        return Done{};
    // A module that contains several kernels is loaded only once.
    auto& module = modules_[module_of(kernel)];
    if (!module) {
        const auto* const image = TRY(image_of(kernel));
        void* loaded = nullptr;
        (void)TRY(tried(api_.load_module, &loaded, image));
        module = {loaded, api_.unload_module};
    }
    return tried(api_.function, &function, module.get(), kKernelNames[index_of(kernel)]);
}

Attempt<Done> RuntimeDevice::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    auto* from = buffers_[index_of(work.from)].get();
    auto* to = buffers_[index_of(other(work.from))].get();
    auto arguments = work.arguments;
    // The APIs take pointers to the arguments and copy them during the launch.
    std::array<void*, 5> parameters = {&from, &to, &arguments.rounds, &arguments.factor,
                                       &arguments.addend};
    auto* const function = functions_[index_of(work.kernel)];
    for (std::uint32_t i = 0; i < work.times; ++i)
        (void)TRY(tried(api_.launch, function, work.groups, 1U, 1U, kGroupThreads, 1U, 1U, 0U,
                        nullptr, parameters.data(), nullptr));
    return finish();
}

Attempt<Done> RuntimeDevice::transfer(Direction direction,
                                      Buffer buffer,
                                      Bytes size,
                                      std::uint32_t times) {
    auto* const device = buffers_[index_of(buffer)].get();
    auto* const host = staging_.data();
    // Start asynchronous copies on the default stream, then wait once for all of them.
    for (std::uint32_t i = 0; i < times; ++i) {
        if (direction == Direction::ToDevice)
            (void)TRY(tried(api_.to_device, device, host, size.count, nullptr));
        else
            (void)TRY(tried(api_.to_host, host, device, size.count, nullptr));
    }
    return finish();
}

/// Waits for all submitted work by polling an event, because the functions that wait for a context
/// have no time limit.
Attempt<Done> RuntimeDevice::finish() {
    (void)TRY(tried(api_.record, end_event_.get(), nullptr));
    return wait_until(
        [this]() -> Attempt<bool> {
            const int code = api_.query(end_event_.get());
            if (code != 0 && code != kNotReady)
                return refusal(api_.query.name, code);
            return code == 0;
        },
        Waiting::Spinning);
}

}  // namespace gpuprobe::backends
