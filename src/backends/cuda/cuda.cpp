// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/driver_library.h"
#include "backends/nvml/nvml.h"
#include "backends/texts.h"
#include "base/text.h"
#include "base/version.h"

namespace gpuprobe::backends {
namespace {

using Text = std::string_view (*)();

/// For each kernel, the PTX of the module that contains the kernel. Kernels with the same PTX are
/// in the same module.
constexpr std::array<Text, kKernels> kTexts = {
    cuda_module_check, cuda_module_base, cuda_module_base, cuda_module_base,
    cuda_module_base,  cuda_module_fp16, cuda_module_int8};

/// The reason code for an error in the stage "verify" or "measure".
const char* trial_reason(int code) {
    switch (code) {
        case 2:  // CUDA_ERROR_OUT_OF_MEMORY
            return "out-of-memory";
        case 200:  // CUDA_ERROR_INVALID_IMAGE
        case 209:  // CUDA_ERROR_NO_BINARY_FOR_GPU
        case 218:  // CUDA_ERROR_INVALID_PTX
        case 222:  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            return "build-failed";
        case 221:  // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        case 223:  // CUDA_ERROR_JIT_COMPILATION_DISABLED
            return "compiler-missing";
        case 702:  // CUDA_ERROR_LAUNCH_TIMEOUT
            return "dispatch-timed-out";
        case 214:  // CUDA_ERROR_ECC_UNCORRECTABLE
        case 226:  // CUDA_ERROR_NVLINK_UNCORRECTABLE
        case 700:  // CUDA_ERROR_ILLEGAL_ADDRESS: from now on, the context is unusable
        case 714:  // CUDA_ERROR_HARDWARE_STACK_ERROR
        case 719:  // CUDA_ERROR_LAUNCH_FAILED
            return "device-lost";
        default:
            return "api-refused";
    }
}

class CudaDevice final : public RuntimeDevice {
public:
    CudaDevice(const cuda::Symbols& names,
               const cuda::ComputeSymbols& api,
               const ComputeLimits& limits)
        : RuntimeDevice{api.runtime, limits}, names_{names}, api_{api} {}

    /// Retains the primary context of the device and makes it current on this thread.
    Attempt<Done> open(cuda::Device device) {
        cuda::Context context = nullptr;
        (void)TRY(tried(api_.retain, &context, device));
        const auto release = [release = api_.release, device](void*) { (void)release(device); };
        Owned<void*> owner{context, release};
        (void)TRY(tried(api_.set_current, context));
        return begin(std::move(owner));
    }

private:
    [[nodiscard]] std::size_t module_of(Kernel kernel) const override {
        return first_in_module(kTexts, kernel);
    }
    Attempt<const void*> image_of(Kernel kernel) override {
        return static_cast<const void*>(kTexts[index_of(kernel)]().data());
    }
    /// The refusal contains the function's name as in the reference, without the ABI suffix.
    [[nodiscard]] Refusal refusal(std::string_view function, int code) const override {
        return refused_call(trial_reason(code), function.substr(0, function.find("_v2")),
                            cuda::words_of(names_, code), code);
    }

    cuda::Symbols names_;
    cuda::ComputeSymbols api_;
};

/// The kernels that the device supports, according to its compute capability. Source: PTX ISA, the
/// targets of fma.f16x2 and dp4a.
ComputeLimits limits_of(const DeviceFacts& facts) {
    const auto* text = facts.extra.at("compute_capability").as_string();
    const auto version = text ? leading_version(*text) : std::nullopt;
    ComputeLimits limits;
    limits.has_fp16 = version && *version >= Version{{5, 3}};
    limits.has_int8 = version && *version >= Version{{6, 1}};
    return limits;
}

/// Opens a device with its primary context, which the CUDA runtime also uses. The kernels are PTX,
/// which the driver compiles, so no toolkit is needed. Refusals: `compiler-missing`,
/// `out-of-memory`, `device-lost` or `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_cuda(const DynamicLibrary& library,
                                                  const cuda::Symbols& api,
                                                  cuda::Device device,
                                                  const DeviceFacts& facts) {
    // Check the free memory first, because creating the context needs half a gigabyte.
    (void)TRY(nvidia_free_memory(facts));
    const auto compute = TRY(compute_functions<cuda::ComputeSymbols>(library));
    return opened(std::make_unique<CudaDevice>(api, compute, limits_of(facts)), device);
}

using cuda::Attribute;
using cuda::Device;
using cuda::kSuccess;
using cuda::Symbols;

constexpr int kMaxDevices = 64;
constexpr std::uint64_t kHertzPerKilohertz = 1000;

/// A device attribute and the fact that is derived from it.
struct AttributeFact {
    Attribute attribute;
    std::string_view key;
    std::uint64_t unit = 1;  ///< the factor from the attribute's unit to the fact's unit
};

/// The attributes that become facts. The driver reports clocks in kilohertz; the facts are in
/// hertz.
constexpr std::array<AttributeFact, 15> kAttributes = {{
    {Attribute::MultiprocessorCount, "multiprocessors"},
    {Attribute::MaxThreadsPerBlock, "max_threads_per_block"},
    {Attribute::WarpSize, "warp_size"},
    {Attribute::MaxRegistersPerBlock, "max_registers_per_block"},
    {Attribute::MaxSharedMemoryPerBlockOptin, "max_shared_memory_per_block"},
    {Attribute::L2CacheSize, "l2_cache"},
    {Attribute::ClockRate, "clock_hz", kHertzPerKilohertz},
    {Attribute::MemoryClockRate, "memory_clock_hz", kHertzPerKilohertz},
    {Attribute::GlobalMemoryBusWidth, "memory_bus_bits"},
    {Attribute::ComputeMode, "compute_mode"},
    {Attribute::EccEnabled, "ecc"},
    {Attribute::ManagedMemory, "managed_memory"},
    {Attribute::ConcurrentManagedAccess, "concurrent_managed_access"},
    {Attribute::VirtualMemoryManagement, "virtual_memory_management"},
    {Attribute::MemoryPools, "memory_pools"},
}};

/// A device attribute; nullopt if the driver does not support it.
std::optional<int> attribute(const Symbols& api, Attribute which, Device device) {
    int value = 0;
    if (api.attribute(&value, static_cast<int>(which), device) != kSuccess)
        return std::nullopt;
    return value;
}

/// The PCI address, which the driver reports as a string.
std::optional<PciAddress> pci_of(const Symbols& api, Device device) {
    const auto text =
        written_text([&](char* buffer, int size) { return api.pci_bus_id(buffer, size, device); });
    return text ? parse_text(*text, std::type_identity<PciAddress>{}) : std::nullopt;
}

void add_attributes(const Symbols& api, Device device, DeviceFacts& facts) {
    const auto major = attribute(api, Attribute::ComputeCapabilityMajor, device);
    const auto minor = attribute(api, Attribute::ComputeCapabilityMinor, device);
    if (major && minor)
        facts.extra["compute_capability"] =
            dotted({static_cast<unsigned>(*major), static_cast<unsigned>(*minor)});
    if (const auto integrated = attribute(api, Attribute::Integrated, device))
        facts.type = *integrated != 0 ? DeviceType::Integrated : DeviceType::Discrete;
    for (const auto& fact : kAttributes) {
        const auto value = attribute(api, fact.attribute, device);
        // Treat an impossible negative value as unknown.
        const bool known = value && *value >= 0;
        facts.extra[fact.key] =
            known ? Value{static_cast<unsigned long long>(*value) * fact.unit} : Value{};
    }
}

DeviceFacts device_facts(const Symbols& api, Device device, int index) {
    DeviceFacts facts;
    facts.index = static_cast<std::uint32_t>(index);
    facts.name =
        written_text([&](char* buffer, int size) { return api.name(buffer, size, device); });
    facts.vendor_id = "10de";
    facts.pci = pci_of(api, device);
    // The UUID is in the form that CUDA_VISIBLE_DEVICES accepts. A MIG instance has a separate
    // UUID, and its name in CUDA contains " MIG ".
    const bool is_instance = facts.name && facts.name->find(" MIG ") != std::string::npos;
    cuda::Uuid uuid;
    if (api.uuid && api.uuid(&uuid, device) == kSuccess)
        facts.uuid = (is_instance ? "MIG-" : "GPU-") + uuid_text(uuid.bytes);
    std::size_t total = 0;
    if (api.total_memory(&total, device) == kSuccess && total > 0)
        facts.memory = FactMemory{.total = Bytes{total}};
    add_attributes(api, device, facts);
    return facts;
}

/// The reason code for a failure of cuInit. docs/internals/facts.md has the numbers and causes.
std::string_view init_reason(cuda::CudaResult code) {
    switch (code) {
        case cuda::kNoDevice:
            return "no-device";
        case cuda::kStubLibrary:
            return "stub-library";
        case cuda::kDriverMismatch:
            return "driver-mismatch";
        case cuda::kSystemNotReady:
            return "system-not-ready";
        default:
            return "api-refused";
    }
}

/// The answer for a failed call. If there is no device, or only a stub library, the answer is
/// Absent.
Answer refused(const Symbols& api, const char* function, cuda::CudaResult code) {
    const bool not_there = code == cuda::kNoDevice || code == cuda::kStubLibrary;
    auto answer =
        answer_of(refused_call(init_reason(code), function, cuda::words_of(api, code), code),
                  not_there ? Outcome::Absent : Outcome::Failed);
    add_denial(kNvidiaControl, answer.reasons);
    return answer;
}

/// Reports the library and the CUDA version that the driver supports.
void send_runtime(const Symbols& api, const DynamicLibrary& library, Sink& sink) {
    auto runtime = runtime_of(library);
    int version = 0;
    if (api.driver_version(&version) == kSuccess && version > 0)
        runtime["version"] = cuda_version_text(version);
    sink.runtime(runtime);
}

}  // namespace

std::string cuda::words_of(const Symbols& api, CudaResult code) {
    const char* words = nullptr;
    if (api.error_name)
        (void)api.error_name(code, &words);  // `words` stays null for an unknown code
    return scrubbed(words ? words : "unknown code") + " (" + std::to_string(code) + ")";
}

Answer visit_cuda(const ProbeTarget& target, Sink& sink, const VisitDevice& visit) {
    // Set the variables before the driver is loaded, because the driver reads the environment.
    start_only_wanted(target);
    const auto library = TRY(open_library("libcuda.so.1", sink));
    const auto api = TRY(query_functions<Symbols>(library));
    const auto refuse = [&](const char* function, cuda::CudaResult code) {
        return refused(api, function, code);
    };
    send_runtime(api, library, sink);
    sink.phase("instance");
    (void)TRY(call(refuse, api.init, 0U));
    sink.phase("enumerate");
    int count = 0;
    (void)TRY(call(refuse, api.device_count, &count));
    sink.phase("query");
    for (int index = 0; index < std::clamp(count, 0, kMaxDevices); ++index) {
        Device device = 0;
        // A broken device must not hide the other devices.
        if (api.device_get(&device, index) != kSuccess)
            continue;
        const auto facts = device_facts(api, device, index);
        if (!visit(facts, [&] { return open_cuda(library, api, device, facts); }))
            return {};
    }
    return {};
}

}  // namespace gpuprobe::backends
