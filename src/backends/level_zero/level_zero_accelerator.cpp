// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/level_zero_accelerator.h"

#include <algorithm>
#include <array>
#include <optional>

#include "backends/compute/wait.h"
#include "backends/level_zero/compute_abi.h"

namespace gpuprobe {
namespace {

constexpr std::uint32_t kMaxQueueGroups = 64;
constexpr std::size_t kAlignment = 64;  // of a cache line

class LevelZeroAccelerator final : public Accelerator {
public:
    LevelZeroAccelerator(const ze::ComputeSymbols& api, ze::Device device)
        : api_{api}, device_{device} {}
    LevelZeroAccelerator(const LevelZeroAccelerator&) = delete;
    LevelZeroAccelerator& operator=(const LevelZeroAccelerator&) = delete;
    ~LevelZeroAccelerator() override;

    Attempt<Performed> open(ze::Driver driver);
    [[nodiscard]] const AcceleratorLimits& limits() const override { return limits_; }
    Attempt<Performed> allocate(Bytes size, Bytes staging) override;
    [[nodiscard]] std::span<std::byte> staging() override { return staging_; }
    Attempt<Performed> prepare(gpuprobe::Kernel kernel) override;
    Attempt<Performed> transfer(Direction direction,
                                Buffer buffer,
                                Bytes size,
                                std::uint32_t times) override;
    Attempt<Performed> run(const Work& work) override;

private:
    [[nodiscard]] static Attempt<Performed> done(std::string_view call, ze::Result code) {
        if (code != ze::kSuccess)
            return ze::level_zero_compute_refusal(call, code);
        return Performed{};
    }
    [[nodiscard]] std::optional<std::uint32_t> compute_group() const;
    Attempt<Performed> separate() {
        return done("zeCommandListAppendBarrier", api_.append_barrier(list_, nullptr, 0, nullptr));
    }
    Attempt<Performed> finish();

    ze::ComputeSymbols api_;
    ze::Device device_;
    AcceleratorLimits limits_ = {};
    ze::Context context_ = nullptr;
    ze::CommandQueue queue_ = nullptr;
    ze::CommandList list_ = nullptr;
    ze::Module module_ = nullptr;
    ze::Kernel kernel_ = nullptr;
    std::array<void*, 2> buffers_ = {};
    std::span<std::byte> staging_ = {};
};

/// Whatever a teardown answers, there is nothing left to do about it.
LevelZeroAccelerator::~LevelZeroAccelerator() {
    if (kernel_)
        (void)api_.destroy_kernel(kernel_);
    if (module_)
        (void)api_.destroy_module(module_);
    for (auto* const buffer : buffers_)
        if (buffer)
            (void)api_.free(context_, buffer);
    if (!staging_.empty())
        (void)api_.free(context_, staging_.data());
    if (list_)
        (void)api_.destroy_list(list_);
    if (queue_)
        (void)api_.destroy_queue(queue_);
    if (context_)
        (void)api_.destroy_context(context_);
}

std::optional<std::uint32_t> LevelZeroAccelerator::compute_group() const {
    std::array<ze::QueueGroupProperties, kMaxQueueGroups> groups = {};
    auto count = kMaxQueueGroups;
    if (api_.queue_groups(device_, &count, groups.data()) != ze::kSuccess)
        return std::nullopt;
    for (std::uint32_t i = 0; i < std::min(count, kMaxQueueGroups); ++i)
        if ((groups[i].flags & ze::kQueueGroupCompute) != 0 && groups[i].queues > 0)
            return i;
    return std::nullopt;
}

Attempt<Performed> LevelZeroAccelerator::open(ze::Driver driver) {
    const auto group = compute_group();
    if (!group)
        return Refusal{.code = "no-compute-queue", .note = "no queue of the device computes"};
    const ze::ContextDesc context;
    (void)TRY(done("zeContextCreate", api_.create_context(driver, &context, &context_)));
    const ze::CommandQueueDesc queue{.ordinal = *group};
    (void)TRY(done("zeCommandQueueCreate", api_.create_queue(context_, device_, &queue, &queue_)));
    const ze::CommandListDesc list{.ordinal = *group};
    return done("zeCommandListCreate", api_.create_list(context_, device_, &list, &list_));
}

Attempt<Performed> LevelZeroAccelerator::allocate(Bytes size, Bytes staging) {
    const ze::DeviceMemoryDesc on_device;
    for (auto& buffer : buffers_)
        (void)TRY(done("zeMemAllocDevice", api_.allocate_device(context_, &on_device, size.count,
                                                                kAlignment, device_, &buffer)));
    const ze::HostMemoryDesc on_host;
    void* memory = nullptr;
    (void)TRY(done("zeMemAllocHost",
                   api_.allocate_host(context_, &on_host, staging.count, kAlignment, &memory)));
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return Performed{};
}

Attempt<Performed> LevelZeroAccelerator::prepare(gpuprobe::Kernel kernel) {
    if (kernel != gpuprobe::Kernel::Check)
        return Refusal{.code = "build-failed", .note = "there is no such kernel for Level Zero"};
    if (kernel_)
        return Performed{};
    const auto code = level_zero_check();
    const ze::ModuleDesc module{.size = code.size(), .bytes = code.data()};
    (void)TRY(
        done("zeModuleCreate", api_.create_module(context_, device_, &module, &module_, nullptr)));
    const ze::KernelDesc wanted{.name = "check"};
    (void)TRY(done("zeKernelCreate", api_.create_kernel(module_, &wanted, &kernel_)));
    return done("zeKernelSetGroupSize", api_.set_group_size(kernel_, kGroupThreads, 1, 1));
}

Attempt<Performed> LevelZeroAccelerator::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    auto* const from = buffers_[static_cast<std::size_t>(work.from)];
    auto* const to = buffers_[static_cast<std::size_t>(other(work.from))];
    (void)TRY(done("zeKernelSetArgumentValue", api_.set_argument(kernel_, 0, sizeof from, &from)));
    (void)TRY(done("zeKernelSetArgumentValue", api_.set_argument(kernel_, 1, sizeof to, &to)));
    const ze::GroupCount groups{.x = work.groups};
    for (std::uint32_t i = 0; i < work.times; ++i) {
        (void)TRY(done("zeCommandListAppendLaunchKernel",
                       api_.append_launch(list_, kernel_, &groups, nullptr, 0, nullptr)));
        (void)TRY(separate());
    }
    return finish();
}

Attempt<Performed> LevelZeroAccelerator::transfer(Direction direction,
                                                  Buffer buffer,
                                                  Bytes size,
                                                  std::uint32_t times) {
    void* const on_device = buffers_[static_cast<std::size_t>(buffer)];
    void* const on_host = staging_.data();
    const bool to_device = direction == Direction::ToDevice;
    for (std::uint32_t i = 0; i < times; ++i) {
        (void)TRY(done(
            "zeCommandListAppendMemoryCopy",
            api_.append_copy(list_, to_device ? on_device : on_host,
                             to_device ? on_host : on_device, size.count, nullptr, 0, nullptr)));
        (void)TRY(separate());
    }
    return finish();
}

/// Executes what was appended, and waits for it.
Attempt<Performed> LevelZeroAccelerator::finish() {
    (void)TRY(done("zeCommandListClose", api_.close_list(list_)));
    (void)TRY(done("zeCommandQueueExecuteCommandLists", api_.execute(queue_, 1, &list_, nullptr)));
    const auto limit = std::chrono::nanoseconds{max_wait(Waiting::Spinning)}.count();
    const auto code = api_.synchronize(queue_, static_cast<std::uint64_t>(limit));
    if (code == ze::kNotReady)
        return dispatch_timed_out(Waiting::Spinning);
    (void)TRY(done("zeCommandQueueSynchronize", code));
    return done("zeCommandListReset", api_.reset_list(list_));
}

}  // namespace

Attempt<std::unique_ptr<Accelerator>> open_level_zero(const DynamicLibrary& library,
                                                      ze::Driver driver,
                                                      ze::Device device) {
    const auto api = ze::load_compute(library);
    if (!api)
        return Refusal{.code = "api-refused", .note = api.error().text};
    auto accelerator = std::make_unique<LevelZeroAccelerator>(*api, device);
    (void)TRY(accelerator->open(driver));
    return std::unique_ptr<Accelerator>{std::move(accelerator)};
}

}  // namespace gpuprobe
