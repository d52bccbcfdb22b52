// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/compute/attempt.h"
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
    bool is_cpu = false;                   ///< shares the processor with who waits for it
    bool has_fp16 = false;
    bool has_int8 = false;
    bool has_host_copies = true;  ///< its memory is not simply the host's
};

class ComputeDevice {
public:
    virtual ~ComputeDevice() = default;
    [[nodiscard]] virtual const ComputeLimits& limits() const = 0;
    /// Two buffers of `size`, a multiple of kGroupBytes, and host memory of `staging` that the
    /// device copies from and to. Once, before anything else.
    virtual Attempt<Done> allocate(Bytes size, Bytes staging) = 0;
    [[nodiscard]] virtual std::span<std::byte> staging() = 0;
    /// Compiles. Run does it when it must; a stage that times calls this before.
    virtual Attempt<Done> prepare(Kernel kernel) = 0;
    /// Between the starts of `buffer` and the staging memory, `times` over, and waits.
    virtual Attempt<Done> transfer(Direction direction,
                                   Buffer buffer,
                                   Bytes size,
                                   std::uint32_t times) = 0;
    /// Submits and waits. What takes longer than max_wait (wait.h) is `dispatch-timed-out`, and
    /// nothing of it may be touched again.
    virtual Attempt<Done> run(const Work& work) = 0;
};

constexpr Duration kMaxWait = std::chrono::seconds{2};

constexpr Buffer other(Buffer buffer) {
    return buffer == Buffer::First ? Buffer::Second : Buffer::First;
}

}  // namespace gpuprobe::backends
