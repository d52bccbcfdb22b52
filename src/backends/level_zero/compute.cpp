// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/compute.h"

#include <algorithm>
#include <array>
#include <optional>

#include "backends/compute/device.h"
#include "backends/level_zero/compute_abi.h"
#include "backends/level_zero/kernels.h"
#include "backends/level_zero/sysman.h"

namespace gpuprobe::backends {
namespace {

constexpr std::uint32_t kMaxQueueGroups = 64;
constexpr std::size_t kAlignment = 64;  // of a cache line
/// Of a GPU's memory is taken to be free where nobody tells.
constexpr std::uint64_t kSurelyFree = 8;

using Bytecode = std::span<const unsigned char> (*)();
struct KernelCode {
    const char* name;
    Bytecode module;
};
/// By kernel; those with one code are in one module.
constexpr std::array<KernelCode, kKernels> kCodes = {{
    {"check", level_zero_module_check},
    {"fill", level_zero_module_memory},
    {"read", level_zero_module_memory},
    {"copy", level_zero_module_memory},
    {"fp32", level_zero_module_fp32},
    {"fp16", level_zero_module_fp16},
    {"int8", level_zero_module_int8},
}};

class LevelZeroDevice final : public ComputeDevice {
public:
    LevelZeroDevice(const ze::ComputeSymbols& api, ze::Device device, const ComputeLimits& limits)
        : ComputeDevice{limits}, api_{api}, device_{device} {}
    ~LevelZeroDevice() override;

    Attempt<Done> open(ze::Driver driver);
    Attempt<Done> allocate(Bytes size, Bytes staging) override;
    Attempt<Done> prepare(backends::Kernel kernel) override;
    Attempt<Done> transfer(Direction direction,
                           Buffer buffer,
                           Bytes size,
                           std::uint32_t times) override;
    Attempt<Done> run(const Work& work) override;

private:
    [[nodiscard]] static Attempt<Done> done(std::string_view call, ze::Result code) {
        if (code != ze::kSuccess)
            return ze::level_zero_compute_refusal(call, code);
        return Done{};
    }
    [[nodiscard]] std::optional<std::uint32_t> compute_group() const;
    Attempt<Done> separate() {
        return done("zeCommandListAppendBarrier", api_.append_barrier(list_, nullptr, 0, nullptr));
    }
    Attempt<Done> build(Bytecode code, ze::Module& module);
    Attempt<Done> set_arguments(ze::Kernel kernel, const Work& work);
    Attempt<Done> finish();

    ze::ComputeSymbols api_;
    ze::Device device_;
    ze::Context context_ = nullptr;
    ze::CommandQueue queue_ = nullptr;
    ze::CommandList list_ = nullptr;
    std::array<ze::Module, kKernels> modules_ = {};  ///< where the first of its kernels is
    std::array<ze::Kernel, kKernels> kernels_ = {};
    std::array<void*, 2> buffers_ = {};
};

/// Whatever a teardown answers, there is nothing left to do about it.
LevelZeroDevice::~LevelZeroDevice() {
    for (auto* const kernel : kernels_)
        if (kernel)
            (void)api_.destroy_kernel(kernel);
    for (auto* const module : modules_)
        if (module)
            (void)api_.destroy_module(module);
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

std::optional<std::uint32_t> LevelZeroDevice::compute_group() const {
    std::array<ze::QueueGroupProperties, kMaxQueueGroups> groups = {};
    auto count = kMaxQueueGroups;
    if (api_.queue_groups(device_, &count, groups.data()) != ze::kSuccess)
        return std::nullopt;
    for (std::uint32_t i = 0; i < std::min(count, kMaxQueueGroups); ++i)
        if ((groups[i].flags & ze::kQueueGroupCompute) != 0 && groups[i].queues > 0)
            return i;
    return std::nullopt;
}

Attempt<Done> LevelZeroDevice::open(ze::Driver driver) {
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

Attempt<Done> LevelZeroDevice::allocate(Bytes size, Bytes staging) {
    const ze::DeviceMemoryDesc on_device;
    for (auto& buffer : buffers_)
        (void)TRY(done("zeMemAllocDevice", api_.allocate_device(context_, &on_device, size.count,
                                                                kAlignment, device_, &buffer)));
    const ze::HostMemoryDesc on_host;
    void* memory = nullptr;
    (void)TRY(done("zeMemAllocHost",
                   api_.allocate_host(context_, &on_host, staging.count, kAlignment, &memory)));
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return Done{};
}

Attempt<Done> LevelZeroDevice::build(Bytecode code, ze::Module& module) {
    const auto bytes = code();
    const ze::ModuleDesc wanted{.size = bytes.size(), .bytes = bytes.data()};
    return done("zeModuleCreate", api_.create_module(context_, device_, &wanted, &module, nullptr));
}

Attempt<Done> LevelZeroDevice::prepare(backends::Kernel kernel) {
    const auto number = static_cast<std::size_t>(kernel);
    if (kernels_[number])
        return Done{};
    const auto& code = kCodes[number];
    const auto first = static_cast<std::size_t>(
        std::ranges::find(kCodes, code.module, &KernelCode::module) - kCodes.begin());
    if (!modules_[first])
        (void)TRY(build(code.module, modules_[first]));
    const ze::KernelDesc wanted{.name = code.name};
    (void)TRY(
        done("zeKernelCreate", api_.create_kernel(modules_[first], &wanted, &kernels_[number])));
    return done("zeKernelSetGroupSize", api_.set_group_size(kernels_[number], kGroupThreads, 1, 1));
}

Attempt<Done> LevelZeroDevice::set_arguments(ze::Kernel kernel, const Work& work) {
    auto* const from = buffers_[static_cast<std::size_t>(work.from)];
    auto* const to = buffers_[static_cast<std::size_t>(other(work.from))];
    const auto set = [&](std::uint32_t index, const auto& value) {
        return api_.set_argument(kernel, index, sizeof value, &value);
    };
    for (const auto code : {set(0, from), set(1, to), set(2, work.arguments.rounds),
                            set(3, work.arguments.factor), set(4, work.arguments.addend)})
        (void)TRY(done("zeKernelSetArgumentValue", code));
    return Done{};
}

Attempt<Done> LevelZeroDevice::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    auto* const kernel = kernels_[static_cast<std::size_t>(work.kernel)];
    (void)TRY(set_arguments(kernel, work));
    const ze::GroupCount groups{.x = work.groups};
    for (std::uint32_t i = 0; i < work.times; ++i) {
        (void)TRY(done("zeCommandListAppendLaunchKernel",
                       api_.append_launch(list_, kernel, &groups, nullptr, 0, nullptr)));
        (void)TRY(separate());
    }
    return finish();
}

Attempt<Done> LevelZeroDevice::transfer(Direction direction,
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
Attempt<Done> LevelZeroDevice::finish() {
    (void)TRY(done("zeCommandListClose", api_.close_list(list_)));
    (void)TRY(done("zeCommandQueueExecuteCommandLists", api_.execute(queue_, 1, &list_, nullptr)));
    const auto limit = std::chrono::nanoseconds{max_wait(Waiting::Spinning)}.count();
    const auto code = api_.synchronize(queue_, static_cast<std::uint64_t>(limit));
    if (code == ze::kNotReady)
        return dispatch_timed_out(Waiting::Spinning);
    (void)TRY(done("zeCommandQueueSynchronize", code));
    return done("zeCommandListReset", api_.reset_list(list_));
}

/// An integrated GPU has what the host has.
std::optional<Bytes> free_memory_of(const DeviceFacts& facts) {
    if (facts.type == DeviceType::Integrated)
        return free_host_memory();
    if (const auto told = facts.pci ? sysman_free_memory(*facts.pci) : std::nullopt)
        return told;
    const auto total = facts.memory ? facts.memory->total : std::nullopt;
    return total ? std::optional{Bytes{total->count / kSurelyFree}} : std::nullopt;
}

ComputeLimits limits_of(const DeviceFacts& facts) {
    const auto largest = facts.extra.at("max_memory_allocation_size").as_unsigned();
    return ComputeLimits{
        .free = free_memory_of(facts),
        .max_buffer = largest ? std::optional{Bytes{*largest}} : std::nullopt,
        .has_fp16 = facts.extra.at("fp16").as_bool().value_or(false),
        .has_int8 = facts.extra.at("integer_dot_product").as_bool().value_or(false)};
}

}  // namespace

Attempt<std::unique_ptr<ComputeDevice>> open_level_zero(const DynamicLibrary& library,
                                                        ze::Driver driver,
                                                        ze::Device device,
                                                        const DeviceFacts& facts) {
    const auto api = ze::load_compute(library);
    if (!api)
        return Refusal{.code = "api-refused", .note = api.error().text};
    auto opened = std::make_unique<LevelZeroDevice>(*api, device, limits_of(facts));
    (void)TRY(opened->open(driver));
    return std::unique_ptr<ComputeDevice>{std::move(opened)};
}

}  // namespace gpuprobe::backends
