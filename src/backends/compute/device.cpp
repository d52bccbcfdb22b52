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

/// How long to poll before sleeping in between. Longer than any batch of the sampler; longer work
/// need not be timed to the microsecond.
constexpr std::chrono::milliseconds kSpin{50};
constexpr timespec kNap = {.tv_sec = 0, .tv_nsec = 20'000};

void nap() {
    ::nanosleep(&kNap, nullptr);
}

}  // namespace

ComputeLimits limits_from(const DeviceFacts& facts, const char* fp16_key) {
    const bool is_cpu = facts.type == DeviceType::Cpu;
    const auto told = facts.memory ? facts.memory->free : std::nullopt;
    // The keys are the same for OpenCL, Level Zero and Vulkan; a missing fact leaves the limit
    // unknown.
    const auto largest = facts.extra.at("max_memory_allocation_size").as_unsigned();
    return ComputeLimits{
        .free = is_cpu ? free_host_memory() : told,
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
    // Without this, the kernel extends every nap by up to 50 µs; prctl(2), PR_SET_TIMERSLACK.
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

}  // namespace gpuprobe::backends
