// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/level_zero.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "backends/driver_library.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

constexpr std::uint32_t kMaxQueueGroups = 64;
constexpr std::size_t kAlignment = 64;  // the size of a cache line
/// If the free memory is unknown, 1/kSurelyFree of the total is assumed to be free.
constexpr std::uint64_t kSurelyFree = 8;

using Bytecode = std::span<const unsigned char> (*)();
/// For each kernel, the module that contains the kernel. Kernels with the same bytecode are in the
/// same module.
constexpr std::array<Bytecode, kKernels> kBytecodes = {
    level_zero_module_check,  level_zero_module_memory, level_zero_module_memory,
    level_zero_module_memory, level_zero_module_fp32,   level_zero_module_fp16,
    level_zero_module_int8};

/// The reason code for an error. Source: "ze_result_t".
const char* reason_of(ze::Code code) {
    switch (code) {
        case ZE_RESULT_NOT_READY:
            return "dispatch-timed-out";
        case ZE_RESULT_ERROR_DEVICE_LOST:
        case ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET:
            return "device-lost";
        case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
        case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY:
            return "out-of-memory";
        case ZE_RESULT_ERROR_MODULE_BUILD_FAILURE:
        case ZE_RESULT_ERROR_MODULE_LINK_FAILURE:
            return "build-failed";
        case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:  // the driver cannot load its compiler
            return "compiler-missing";
        default:
            return "api-refused";
    }
}

Refusal refusal(std::string_view function, ze::Code code) {
    return refused_call(reason_of(code), function, level_zero_code_text(code), code);
}

class LevelZeroDevice final : public ComputeDevice {
public:
    LevelZeroDevice(const ze::ComputeSymbols& api,
                    ze_device_handle_t device,
                    const ComputeLimits& limits)
        : ComputeDevice{limits}, api_{api}, device_{device} {}

    Attempt<Done> open(ze_driver_handle_t driver);
    Attempt<Done> allocate(Bytes size, Bytes staging) override;
    Attempt<Done> prepare(backends::Kernel kernel) override;
    Attempt<Done> transfer(Direction direction,
                           Buffer buffer,
                           Bytes size,
                           std::uint32_t times) override;
    Attempt<Done> run(const Work& work) override;

private:
    /// The index of the first queue group that can compute.
    [[nodiscard]] std::optional<std::uint32_t> compute_group() const;
    /// An owner of memory that was allocated in the context.
    [[nodiscard]] Owned<void*> owned(void* memory) const {
        const auto release = [free = api_.free, context = context_.get()](void* one) {
            (void)free(context, one);
        };
        return {memory, release};
    }
    Attempt<Owned<ze_module_handle_t>> build(Bytecode code);
    Attempt<Done> set_arguments(ze_kernel_handle_t kernel, const Work& work);
    /// Appends a barrier: later commands start after earlier ones have ended.
    Attempt<Done> separate() {
        return call(refusal, api_.append_barrier, list_.get(), nullptr, 0U, nullptr);
    }
    /// Executes the appended commands and waits until they have ended.
    Attempt<Done> finish();

    ze::ComputeSymbols api_;
    ze_device_handle_t device_;
    // Keep this order: members are destroyed from last to first, so the context goes last.
    Owned<ze_context_handle_t> context_ = {};
    Owned<ze_command_queue_handle_t> queue_ = {};
    Owned<ze_command_list_handle_t> list_ = {};
    Owned<void*> host_ = {};
    std::array<Owned<void*>, 2> buffers_ = {};
    std::array<Owned<ze_module_handle_t>, kKernels> modules_ = {};  ///< index: first_in_module()
    std::array<Owned<ze_kernel_handle_t>, kKernels> kernels_ = {};
};

std::optional<std::uint32_t> LevelZeroDevice::compute_group() const {
    std::array<ze_command_queue_group_properties_t, kMaxQueueGroups> groups;
    groups.fill(ze::made<ze_command_queue_group_properties_t>(
        ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES));
    auto count = kMaxQueueGroups;
    if (api_.queue_groups(device_, &count, groups.data()) != ZE_RESULT_SUCCESS)
        return std::nullopt;
    for (std::uint32_t i = 0; i < std::min(count, kMaxQueueGroups); ++i)
        if ((groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0 &&
            groups[i].numQueues > 0)
            return i;
    return std::nullopt;
}

Attempt<Done> LevelZeroDevice::open(ze_driver_handle_t driver) {
    const auto group = compute_group();
    if (!group)
        return Refusal{.code = "no-compute-queue", .note = "the device has no compute queue"};
    const auto for_context = ze::made<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
    ze_context_handle_t context = nullptr;
    (void)TRY(call(refusal, api_.create_context, driver, &for_context, &context));
    context_ = {context, api_.destroy_context};
    auto for_queue = ze::made<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    for_queue.ordinal = *group;
    for_queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    ze_command_queue_handle_t queue = nullptr;
    (void)TRY(call(refusal, api_.create_queue, context, device_, &for_queue, &queue));
    queue_ = {queue, api_.destroy_queue};
    auto for_list = ze::made<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
    for_list.commandQueueGroupOrdinal = *group;
    ze_command_list_handle_t list = nullptr;
    (void)TRY(call(refusal, api_.create_list, context, device_, &for_list, &list));
    list_ = {list, api_.destroy_list};
    return Done{};
}

Attempt<Done> LevelZeroDevice::allocate(Bytes size, Bytes staging) {
    void* memory = nullptr;
    const auto on_device =
        ze::made<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
    for (auto& buffer : buffers_) {
        (void)TRY(call(refusal, api_.allocate_device, context_.get(), &on_device, size.count,
                       kAlignment, device_, &memory));
        buffer = owned(memory);
    }
    const auto on_host = ze::made<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
    (void)TRY(call(refusal, api_.allocate_host, context_.get(), &on_host, staging.count, kAlignment,
                   &memory));
    host_ = owned(memory);
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return Done{};
}

Attempt<Owned<ze_module_handle_t>> LevelZeroDevice::build(Bytecode code) {
    const auto bytes = code();
    auto wanted = ze::made<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
    wanted.format = ZE_MODULE_FORMAT_IL_SPIRV;
    wanted.inputSize = bytes.size();
    wanted.pInputModule = bytes.data();
    wanted.pBuildFlags = "";
    ze_module_handle_t module = nullptr;
    (void)TRY(
        call(refusal, api_.create_module, context_.get(), device_, &wanted, &module, nullptr));
    return Owned<ze_module_handle_t>{module, api_.destroy_module};
}

Attempt<Done> LevelZeroDevice::prepare(backends::Kernel kernel) {
    auto& prepared = kernels_[index_of(kernel)];
    if (prepared)
        return Done{};
    auto& module = modules_[first_in_module(kBytecodes, kernel)];
    if (!module)
        module = TRY(build(kBytecodes[index_of(kernel)]));
    auto wanted = ze::made<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
    wanted.pKernelName = kKernelNames[index_of(kernel)];
    ze_kernel_handle_t made = nullptr;
    (void)TRY(call(refusal, api_.create_kernel, module.get(), &wanted, &made));
    prepared = {made, api_.destroy_kernel};
    return call(refusal, api_.set_group_size, made, kGroupThreads, 1U, 1U);
}

Attempt<Done> LevelZeroDevice::set_arguments(ze_kernel_handle_t kernel, const Work& work) {
    auto* const from = buffers_[index_of(work.from)].get();
    auto* const to = buffers_[index_of(other(work.from))].get();
    const auto set = [&](std::uint32_t index, const auto& value) {
        return call(refusal, api_.set_argument, kernel, index, sizeof value, &value);
    };
    (void)TRY(set(0, from));
    (void)TRY(set(1, to));
    (void)TRY(set(2, work.arguments.rounds));
    (void)TRY(set(3, work.arguments.factor));
    return set(4, work.arguments.addend);
}

Attempt<Done> LevelZeroDevice::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    auto* const kernel = kernels_[index_of(work.kernel)].get();
    (void)TRY(set_arguments(kernel, work));
    const ze_group_count_t groups{work.groups, 1, 1};
    for (std::uint32_t i = 0; i < work.times; ++i) {
        (void)TRY(
            call(refusal, api_.append_launch, list_.get(), kernel, &groups, nullptr, 0U, nullptr));
        (void)TRY(separate());
    }
    return finish();
}

Attempt<Done> LevelZeroDevice::transfer(Direction direction,
                                        Buffer buffer,
                                        Bytes size,
                                        std::uint32_t times) {
    void* const on_device = buffers_[index_of(buffer)].get();
    void* const on_host = staging_.data();
    const bool to_device = direction == Direction::ToDevice;
    for (std::uint32_t i = 0; i < times; ++i) {
        (void)TRY(call(refusal, api_.append_copy, list_.get(), to_device ? on_device : on_host,
                       to_device ? on_host : on_device, size.count, nullptr, 0U, nullptr));
        (void)TRY(separate());
    }
    return finish();
}

Attempt<Done> LevelZeroDevice::finish() {
    auto* list = list_.get();
    (void)TRY(call(refusal, api_.close_list, list));
    (void)TRY(call(refusal, api_.execute, queue_.get(), 1U, &list, nullptr));
    // zeCommandQueueSynchronize has a time limit, so no polling is needed.
    const auto limit = std::chrono::nanoseconds{max_wait(Waiting::Spinning)}.count();
    const auto code = api_.synchronize(queue_.get(), static_cast<std::uint64_t>(limit));
    if (code == ZE_RESULT_NOT_READY)
        return dispatch_timed_out(Waiting::Spinning);
    if (code != ZE_RESULT_SUCCESS)
        return refusal(api_.synchronize.name, code);
    return call(refusal, api_.reset_list, list);
}

/// The free memory of a device. For an integrated GPU, the result is the host's free memory. For
/// other devices, the result is the value from Sysman or, if Sysman reports none, a part of the
/// total memory.
std::optional<Bytes> free_memory_of(const DeviceFacts& facts) {
    if (facts.type == DeviceType::Integrated)
        return free_host_memory();
    if (const auto reported = facts.pci ? sysman_free_memory(*facts.pci) : std::nullopt)
        return reported;
    const auto total = facts.memory ? facts.memory->total : std::nullopt;
    return total ? std::optional{Bytes{total->count / kSurelyFree}} : std::nullopt;
}

/// Opens a device with a context and a queue. `facts` contains the capabilities of the device.
/// `library` must outlive the opened device.
/// Refusals: `no-compute-queue`, `compiler-missing`, `build-failed`, `out-of-memory`, `device-lost`
/// or `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_level_zero(const DynamicLibrary& library,
                                                        ze_driver_handle_t driver,
                                                        ze_device_handle_t device,
                                                        const DeviceFacts& facts) {
    const auto api = TRY(compute_functions<ze::ComputeSymbols>(library));
    // All devices of this API are GPUs or NPUs, so the waiting thread does not compete with them.
    auto limits = limits_from(facts, "fp16");
    limits.free = free_memory_of(facts);
    limits.is_cpu = false;
    return opened(std::make_unique<LevelZeroDevice>(api, device, limits), driver);
}

using ze::Symbols;

constexpr std::string_view kApi = "level_zero";
constexpr std::uint32_t kMaxDrivers = 16;
constexpr std::uint32_t kMaxDevices = 64;
constexpr std::size_t kMaxComponents = 16;

/// The drivers for one kind of device, or the failed call and its code.
struct Drivers {
    std::vector<ze_driver_handle_t> found = {};
    std::string_view call = {};
    ze::Code code = ZE_RESULT_SUCCESS;
};

/// Configures the driver, before it is loaded, to list each physical GPU once and in the order of
/// PCI addresses. By default, the order depends on the driver's estimate of speed. Existing
/// settings are kept. Source: Level Zero specification, "Environment Variables".
void prepare_environment() {
    constexpr int kKeepCallers = 0;
    (void)::setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE", kKeepCallers);
    (void)::setenv("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1", kKeepCallers);
}

/// The drivers for one kind of device. Needs init_drivers (loader 1.10 or newer).
Drivers drivers_of(const Symbols& api, std::uint32_t kind) {
    Drivers drivers{.call = api.init_drivers.name};
    ze::InitDriverTypeDesc wanted{.flags = kind};
    const auto query = [&](std::uint32_t* count, ze_driver_handle_t* list) {
        return api.init_drivers(count, list, &wanted);
    };
    drivers.code = ze::listed(query, kMaxDrivers, drivers.found);
    return drivers;
}

/// The GPU drivers, with a loader that is older than version 1.10.
Drivers gpu_drivers_of_old_loader(const Symbols& api) {
    Drivers drivers{.call = api.init.name, .code = api.init(ZE_INIT_FLAG_GPU_ONLY)};
    if (drivers.code != ZE_RESULT_SUCCESS)
        return drivers;
    drivers.call = api.driver_get.name;
    drivers.code = ze::listed(api.driver_get, kMaxDrivers, drivers.found);
    return drivers;
}

/// Reports the version of the loader, which the API returns in a list of components.
void send_loader_version(const Symbols& api, Sink& sink) {
    std::array<zel_component_version_t, kMaxComponents> components = {};
    std::size_t count = 0;
    if (!api.loader_versions || api.loader_versions(&count, nullptr) != ZE_RESULT_SUCCESS)
        return;
    count = std::min(count, components.size());
    if (api.loader_versions(&count, components.data()) != ZE_RESULT_SUCCESS)
        return;
    for (const auto& component : std::span{components}.first(std::min(count, components.size()))) {
        const std::string_view name{component.component_name, sizeof component.component_name};
        if (clean_text(name) != "loader")
            continue;
        const auto& number = component.component_lib_version;
        const auto version =
            dotted({static_cast<unsigned>(number.major), static_cast<unsigned>(number.minor),
                    static_cast<unsigned>(number.patch)});
        return sink.runtime(Value{Value::Object{{"version", Value{version}}}});
    }
}

/// Whether the driver lists an extension.
bool has_extension(const Symbols& api, ze_driver_handle_t driver, std::string_view name) {
    constexpr std::uint32_t kMaxExtensions = 1024;
    std::vector<ze_driver_extension_properties_t> extensions;
    const auto query = [&](std::uint32_t* count, ze_driver_extension_properties_t* list) {
        return api.extensions(driver, count, list);
    };
    if (ze::listed(query, kMaxExtensions, extensions) != ZE_RESULT_SUCCESS)
        return false;
    return std::ranges::any_of(extensions, [&](const auto& extension) {
        return clean_text({extension.name, sizeof extension.name}) == name;
    });
}

/// The facts about a driver.
LevelZeroDriver described(const Symbols& api, ze_driver_handle_t handle) {
    LevelZeroDriver driver;
    ze_api_version_t version = {};
    if (api.api_version(handle, &version) == ZE_RESULT_SUCCESS)
        driver.api_version = level_zero_version(version);
    auto properties = ze::made<ze_driver_properties_t>(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
    if (api.driver_properties(handle, &properties) == ZE_RESULT_SUCCESS)
        driver.driver_version = level_zero_driver_version(properties.driverVersion);
    driver.knows_ip_version = has_extension(api, handle, ze::kIpVersionExtension);
    return driver;
}

/// Visits the devices of every driver. The devices are numbered starting at `index`. Returns false
/// if `visit` stopped the enumeration.
bool visit_devices(const Symbols& api,
                   const DynamicLibrary& library,
                   const Drivers& drivers,
                   std::uint32_t& index,
                   const VisitDevice& visit) {
    for (auto* const handle : drivers.found) {
        std::vector<ze_device_handle_t> devices;
        const auto query = [&](std::uint32_t* count, ze_device_handle_t* list) {
            return api.device_get(handle, count, list);
        };
        // A broken driver must not hide the devices of other drivers.
        if (ze::listed(query, kMaxDevices, devices) != ZE_RESULT_SUCCESS)
            continue;
        const auto driver = described(api, handle);
        for (auto* const device : devices) {
            const auto facts = level_zero_facts(api, device, driver, index++);
            if (!visit(facts, [&] { return open_level_zero(library, handle, device, facts); }))
                return false;
        }
    }
    return true;
}

/// Visits the GPUs and, with a loader that lists them separately, the NPUs.
Answer visit_all(const Symbols& api,
                 const DynamicLibrary& library,
                 Sink& sink,
                 const VisitDevice& visit) {
    std::uint32_t devices = 0;
    sink.phase("instance");
    const auto gpus =
        api.init_drivers ? drivers_of(api, ze::kDriverTypeGpu) : gpu_drivers_of_old_loader(api);
    send_loader_version(api, sink);
    sink.phase("query");
    if (!visit_devices(api, library, gpus, devices, visit))
        return {};
    if (api.init_drivers) {
        // NPUs come after the GPUs, so that a crash of an NPU driver loses no results of GPUs.
        sink.phase("npu");
        if (!visit_devices(api, library, drivers_of(api, ze::kDriverTypeNpu), devices, visit))
            return {};
    }
    // A machine with only an NPU has no GPU driver (kUninitialized), which isn't an error if a
    // device was found.
    if (gpus.code != ZE_RESULT_SUCCESS &&
        (devices == 0 || gpus.code != ZE_RESULT_ERROR_UNINITIALIZED))
        return level_zero_refusal(kApi, gpus.call, gpus.code);
    return devices > 0 ? Answer{}
                       : without_devices("no driver lists a device", {{"api", Value{kApi}}});
}

}  // namespace

Answer visit_level_zero(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    prepare_environment();
    const auto library = TRY(open_library(kLevelZeroLoader, sink));
    const auto api = TRY(query_functions<Symbols>(library));
    sink.runtime(runtime_of(library));
    return visit_all(api, library, sink, visit);
}

}  // namespace gpuprobe::backends
