// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/backend.h"
#include "backends/driver_library.h"
#include "base/units.h"

/// An interface to a compute device that is the same for every API. The stages "verify" and
/// "measure" use only this interface, so they are implemented once for all APIs.

namespace gpuprobe::backends {

/// The test kernels. The kernels are written once for each API, in the language of that API. `i` is
/// the index of a 32-bit word; `a` and `b` are KernelArguments::factor and ::addend. Each of the
/// last three kernels writes one word per thread, the sum of the thread's eight chains; the
/// functions in stages.h compute the expected words.
enum class Kernel {
    Check,  ///< to[i] = from[i] * 3 + 1, one word per thread
    Fill,   ///< to[i] = i * a + b, kWordsPerThread words per thread
    Read,   ///< to[thread] = the sum of kWordsPerThread words of `from`
    Copy,   ///< to[i] = from[i], kWordsPerThread words per thread
    Fp32,   ///< x = x * a + b, then x = x * a + (b + 1), as fused 32-bit operations
    Fp16,   ///< x = x * a + b, as fused operations on pairs of 16-bit numbers
    Int8,   ///< x = dot(bytes of x, bytes of a) + b, on four bytes at once
};
constexpr std::size_t kKernels = 7;
/// The function names of the kernels, which are the same in every language.
constexpr std::array<const char*, kKernels> kKernelNames = {"check", "fill", "read", "copy",
                                                            "fp32",  "fp16", "int8"};
constexpr std::size_t index_of(Kernel kernel) {
    return static_cast<std::size_t>(kernel);
}
/// The index of the first kernel in the same module as `kernel`. A module that contains several
/// kernels is stored at the index of its first kernel. `modules` contains the identifier of each
/// kernel's module.
template <class Modules>
std::size_t first_in_module(const Modules& modules, Kernel kernel) {
    return static_cast<std::size_t>(std::ranges::find(modules, modules[index_of(kernel)]) -
                                    modules.begin());
}

/// Threads per group. Vulkan guarantees only 128 threads per group. Source: Vulkan 1.3
/// specification, "Required Limits", maxComputeWorkGroupInvocations.
constexpr std::uint32_t kGroupThreads = 128;
/// Each thread loads 16 bytes, 16 times. Kernel::Read writes one word per thread, which is less
/// than 2 % of the traffic.
constexpr std::uint32_t kWordsPerThread = 64;
/// The number of bytes that a group loads. The words of a group are contiguous: in each step, the
/// threads of the group read adjacent words.
constexpr Bytes kGroupBytes{std::uint64_t{kGroupThreads} * kWordsPerThread * 4};
/// In an arithmetic kernel, each thread computes kChains independent chains, and each round
/// consists of kRoundSteps steps per chain.
constexpr std::uint32_t kChains = 8;
constexpr std::uint32_t kRoundSteps = 16;

struct KernelArguments {
    std::uint32_t rounds = 0;  ///< number of rounds; used only by arithmetic kernels
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

/// One submission: the same kernel run `times` times in sequence.
struct Work {
    Kernel kernel = Kernel::Check;
    std::uint32_t groups = 1;
    KernelArguments arguments = {};
    Buffer from = Buffer::First;  ///< the buffer to read; the kernel writes to the other buffer
    std::uint32_t times = 1;
};

struct ComputeLimits {
    std::optional<Bytes> free = {};        ///< free device memory when the device was opened
    std::optional<Bytes> max_buffer = {};  ///< the largest size of a single buffer
    bool is_cpu = false;  ///< the device is the CPU, so its work competes with the waiting thread
    bool has_fp16 = false;
    bool has_int8 = false;
    bool has_host_copies = true;  ///< false if the device's memory is host memory
};

/// An opened device with two buffers, host memory for copies, and the kernels.
class ComputeDevice {
public:
    explicit ComputeDevice(const ComputeLimits& limits) : limits_{limits} {}
    virtual ~ComputeDevice() = default;
    ComputeDevice(const ComputeDevice&) = delete;
    ComputeDevice& operator=(const ComputeDevice&) = delete;

    [[nodiscard]] const ComputeLimits& limits() const { return limits_; }
    /// Allocates two buffers of `size` bytes, which must be a multiple of kGroupBytes, and
    /// `staging` bytes of host memory for copies from and to the device. Call this function once,
    /// before all other functions.
    virtual Attempt<Done> allocate(Bytes size, Bytes staging) = 0;
    /// Host memory for copies to and from the device; allocate() allocates it.
    [[nodiscard]] std::span<std::byte> staging() { return staging_; }
    /// Compiles the kernel. run() also compiles a kernel if necessary. A stage that measures times
    /// calls prepare() first, so that it does not measure the compilation.
    virtual Attempt<Done> prepare(Kernel kernel) = 0;
    /// Copies the first `size` bytes of `buffer` to or from the staging memory, `times` times, and
    /// waits until the copies are complete.
    virtual Attempt<Done> transfer(Direction direction,
                                   Buffer buffer,
                                   Bytes size,
                                   std::uint32_t times) = 0;
    /// Submits the work and waits until it is complete. Refusals: `dispatch-timed-out` if the work
    /// takes longer than max_wait(). After `dispatch-timed-out`, do not access the device's memory.
    virtual Attempt<Done> run(const Work& work) = 0;

protected:
    ComputeLimits limits_;
    std::span<std::byte> staging_ = {};
};

/// Calls device->open(arguments…) and returns the device if that succeeds.
template <class Device, class... Arguments>
Attempt<std::unique_ptr<ComputeDevice>> opened(std::unique_ptr<Device> device,
                                               Arguments&&... arguments) {
    (void)TRY(device->open(std::forward<Arguments>(arguments)...));
    return std::unique_ptr<ComputeDevice>{std::move(device)};
}

/// The limits of a device, taken from its facts. `fp16_key` is the key of the fact about half
/// precision. For a processor, ComputeLimits::free is free_host_memory().
ComputeLimits limits_from(const DeviceFacts& facts, const char* fp16_key);

/// The host memory that is available without swapping. Source: proc(5), /proc/meminfo,
/// MemAvailable.
std::optional<Bytes> free_host_memory();

/// The ways to wait for a device.
enum class Waiting {
    Spinning,  ///< polls without sleeping at first, because measured work takes only milliseconds
    Sleeping,  ///< sleeps, because the device is the processor itself
};
constexpr Waiting waiting_for(bool is_cpu) {
    return is_cpu ? Waiting::Sleeping : Waiting::Spinning;
}

/// The time limit of a submission. The limit for processors is longer, because their drivers may
/// spend seconds on compilation during the first submission.
constexpr Duration max_wait(Waiting how) {
    return how == Waiting::Sleeping ? std::chrono::seconds{20} : std::chrono::seconds{2};
}

/// Calls `is_done` until it returns true. Use this function for APIs whose wait functions have no
/// time limit. Refusals: the refusals of `is_done`; `dispatch-timed-out` after max_wait().
Attempt<Done> wait_until(const std::function<Attempt<bool>()>& is_done, Waiting how);

/// The refusal for a kernel that did not end within max_wait().
Refusal dispatch_timed_out(Waiting how);

/// The functions that are the same in the CUDA driver and in the HIP runtime; only the functions
/// for compilation differ. Each function returns 0 on success. Sources: CUDA Driver API reference;
/// HIP Runtime API reference.
struct GpuRuntime {
    Symbol<int(std::size_t* free, std::size_t* total)> memory_info = {};
    Symbol<int(void**, std::size_t)> allocate = {};
    Symbol<int(void*)> free = {};
    Symbol<int(void**, std::size_t, unsigned flags)> allocate_host = {};
    Symbol<int(void*)> free_host = {};
    Symbol<int(void** module, const void* image)> load_module = {};
    Symbol<int(void* module)> unload_module = {};
    Symbol<int(void** function, void* module, const char* name)> function = {};
    Symbol<int(void* function,
               unsigned grid_x,
               unsigned grid_y,
               unsigned grid_z,
               unsigned block_x,
               unsigned block_y,
               unsigned block_z,
               unsigned shared,
               void* stream,
               void** parameters,
               void** extra)>
        launch = {};
    Symbol<int(void* device, const void* host, std::size_t, void* stream)> to_device = {};
    Symbol<int(void* host, void* device, std::size_t, void* stream)> to_host = {};
    Symbol<int(void** event, unsigned flags)> create_event = {};
    Symbol<int(void* event)> destroy_event = {};
    Symbol<int(void* event, void* stream)> record = {};
    Symbol<int(void* event)> query = {};
};

/// A device of CUDA or HIP, whose context is current on the calling thread.
class RuntimeDevice : public ComputeDevice {
public:
    RuntimeDevice(const GpuRuntime& api, const ComputeLimits& limits)
        : ComputeDevice{limits}, api_{api} {}

    Attempt<Done> allocate(Bytes size, Bytes staging) override;
    Attempt<Done> prepare(Kernel kernel) override;
    Attempt<Done> transfer(Direction direction,
                           Buffer buffer,
                           Bytes size,
                           std::uint32_t times) override;
    Attempt<Done> run(const Work& work) override;

protected:
    /// Stores `context`, which must be current on the calling thread. The context is released after
    /// all objects that were created in it.
    Attempt<Done> begin(Owned<void*> context = {});

    /// The index of the first kernel in the same module (first_in_module()).
    [[nodiscard]] virtual std::size_t module_of(Kernel kernel) const = 0;
    /// The image of the kernel's module, in the form that load_module accepts.
    virtual Attempt<const void*> image_of(Kernel kernel) = 0;
    /// The refusal for a function that returned `code`.
    [[nodiscard]] virtual Refusal refusal(std::string_view function, int code) const = 0;

    template <class Function, class... Arguments>
    Attempt<Done> tried(const Symbol<Function>& function, Arguments... arguments) const {
        const auto refuse = [this](const char* name, int code) { return refusal(name, code); };
        return call(refuse, function, arguments...);
    }

private:
    Attempt<Done> finish();

    GpuRuntime api_;
    // Keep this order: members are destroyed from last to first, so the context is destroyed last.
    Owned<void*> context_ = {};
    Owned<void*> end_event_ = {};
    Owned<void*> host_ = {};
    std::array<Owned<void*>, 2> buffers_ = {};
    std::array<Owned<void*>, kKernels> modules_ = {};  ///< indexed by module_of()
    std::array<void*, kKernels> functions_ = {};
};

}  // namespace gpuprobe::backends
