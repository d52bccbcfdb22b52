// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/backend.h"
#include "base/bytes.h"
#include "base/clock.h"

/// One device that computes, whatever API it is reached by. The stages are written once, on this.
namespace gpuprobe::backends {

/// What the kernels do; each API has them in its own language. `i` is the number of a word of 32
/// bits, `a` and `b` are KernelArguments::factor and ::addend. Each of the last three gives one
/// word a thread, the sum of its eight chains; expected.h says what it must be.
enum class Kernel {
    Check,  ///< to[i] = from[i] * 3 + 1, one word a thread
    Fill,   ///< to[i] = i * a + b, kWordsPerThread words a thread
    Read,   ///< to[thread] = the sum of the thread's kWordsPerThread words of `from`
    Copy,   ///< to[i] = from[i], kWordsPerThread words a thread
    Fp32,   ///< x = x * a + b, then x = x * a + (b + 1), in fused steps of 32 bits
    Fp16,   ///< x = x * a + b, in fused steps on pairs of 16 bits
    Int8,   ///< x = dot(bytes of x, bytes of a) + b, in steps on four bytes
};
constexpr std::size_t kKernels = 7;
/// What the kernels are called in every language.
constexpr std::array<const char*, kKernels> kKernelNames = {"check", "fill", "read", "copy",
                                                            "fp32",  "fp16", "int8"};
constexpr std::size_t index_of(Kernel kernel) {
    return static_cast<std::size_t>(kernel);
}
/// APIs build several kernels as one module. `modules` says by kernel which it is in; this is the
/// index of the first kernel in the same one, which keeps the module for all of them.
template <class Modules>
std::size_t first_in_module(const Modules& modules, Kernel kernel) {
    return static_cast<std::size_t>(std::ranges::find(modules, modules[index_of(kernel)]) -
                                    modules.begin());
}

/// Vulkan guarantees no more than 128 threads to a group. Source: Vulkan 1.3 specification,
/// "Required Limits", maxComputeWorkGroupInvocations.
constexpr std::uint32_t kGroupThreads = 128;
/// Sixteen loads of sixteen bytes: the word that Read writes for them is under 2 % of the traffic.
constexpr std::uint32_t kWordsPerThread = 64;
/// A group's words lie together, and its threads step through them side by side.
constexpr Bytes kGroupBytes{std::uint64_t{kGroupThreads} * kWordsPerThread * 4};
/// Of the arithmetic kernels: independent chains a thread, and steps of each in a round.
constexpr std::uint32_t kChains = 8;
constexpr std::uint32_t kRoundSteps = 16;

struct KernelArguments {
    std::uint32_t rounds = 0;  ///< of the arithmetic kernels, each kRoundSteps steps
    std::int32_t factor = 0;
    std::int32_t addend = 0;
};

enum class Buffer { First, Second };
constexpr Buffer other(Buffer buffer) {
    return buffer == Buffer::First ? Buffer::Second : Buffer::First;
}
constexpr std::size_t index_of(Buffer buffer) {
    return static_cast<std::size_t>(buffer);
}
enum class Direction { ToDevice, ToHost };

/// One submission: the same kernel `times` over, one after the other.
struct Work {
    Kernel kernel = Kernel::Check;
    std::uint32_t groups = 1;
    KernelArguments arguments = {};
    Buffer from = Buffer::First;  ///< the kernel writes to the other one
    std::uint32_t times = 1;
};

struct ComputeLimits {
    std::optional<Bytes> free = {};        ///< of device memory, now
    std::optional<Bytes> max_buffer = {};  ///< the largest that one buffer may be
    bool is_cpu = false;  ///< runs on the processor, which the waiting thread needs too
    bool has_fp16 = false;
    bool has_int8 = false;
    bool has_host_copies = true;  ///< its memory is not the host's own
};

class ComputeDevice {
public:
    explicit ComputeDevice(const ComputeLimits& limits) : limits_{limits} {}
    virtual ~ComputeDevice() = default;
    ComputeDevice(const ComputeDevice&) = delete;
    ComputeDevice& operator=(const ComputeDevice&) = delete;

    [[nodiscard]] const ComputeLimits& limits() const { return limits_; }
    /// Two buffers of `size`, a multiple of kGroupBytes, and host memory of `staging` that the
    /// device copies from and to. Once, before anything else.
    virtual Attempt<Done> allocate(Bytes size, Bytes staging) = 0;
    /// That host memory.
    [[nodiscard]] std::span<std::byte> staging() { return staging_; }
    /// Compiles. `run` does it where it has to; a stage that takes times calls this before.
    virtual Attempt<Done> prepare(Kernel kernel) = 0;
    /// Between the starts of `buffer` and the staging memory, `times` over, and waits.
    virtual Attempt<Done> transfer(Direction direction,
                                   Buffer buffer,
                                   Bytes size,
                                   std::uint32_t times) = 0;
    /// Submits and waits. What takes longer than max_wait is refused as `dispatch-timed-out`; none
    /// of the device's memory may be touched after that.
    virtual Attempt<Done> run(const Work& work) = 0;

protected:
    ComputeLimits limits_;
    std::span<std::byte> staging_ = {};
};

/// Opens a device that has been made, and hands it over.
template <class Device, class... Arguments>
Attempt<std::unique_ptr<ComputeDevice>> opened(std::unique_ptr<Device> device,
                                               Arguments&&... arguments) {
    (void)TRY(device->open(std::forward<Arguments>(arguments)...));
    return std::unique_ptr<ComputeDevice>{std::move(device)};
}

/// What a device's facts say of its limits; `fp16_key` is the fact that says whether it has halves.
/// Free memory is the host's for a processor.
ComputeLimits limits_from(const DeviceFacts& facts, const char* fp16_key);

/// What the host could give without swapping. Source: proc(5), /proc/meminfo, MemAvailable.
std::optional<Bytes> free_host_memory();

enum class Waiting {
    Spinning,  ///< asks as fast as it can for a while: what is timed takes milliseconds
    Sleeping,  ///< leaves the processor to the device, which is the processor
};
constexpr Waiting waiting_for(bool is_cpu) {
    return is_cpu ? Waiting::Sleeping : Waiting::Spinning;
}

/// How long a submission may take. Drivers for processors compile at the first one, for seconds.
constexpr Duration max_wait(Waiting how) {
    return how == Waiting::Sleeping ? std::chrono::seconds{20} : std::chrono::seconds{2};
}

/// Asks `is_done` until it is true. Refusals: its own; `dispatch-timed-out` after max_wait. For
/// APIs whose own waits have no limit.
Attempt<Done> wait_until(const std::function<Attempt<bool>()>& is_done, Waiting how);

/// The refusal where an API's own wait came to its limit before the kernel came to its end.
Refusal dispatch_timed_out(Waiting how);

}  // namespace gpuprobe::backends
