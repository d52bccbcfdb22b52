// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_accelerator.h"

#include <array>

#include "backends/compute/wait.h"
#include "backends/cuda/cuda_compute_abi.h"
#include "backends/cuda/kernels.h"
#include "backends/nvml/free_memory.h"
#include "base/dotted_version.h"

namespace gpuprobe {
namespace {

using cuda::kSuccess;

struct KernelCode {
    const char* function;
    std::string_view (*module_text)();
};
constexpr std::array<KernelCode, kKernels> kCode = {{
    {"check", cuda_module_check},
    {"fill", cuda_module_base},
    {"read", cuda_module_base},
    {"copy", cuda_module_base},
    {"fp32", cuda_module_base},
    {"fp16", cuda_module_fp16},
    {"int8", cuda_module_int8},
}};

class CudaAccelerator final : public Accelerator {
public:
    CudaAccelerator(const cuda::Symbols& names,
                    const cuda::ComputeSymbols& api,
                    cuda::Device device,
                    const AcceleratorLimits& limits)
        : names_{names}, api_{api}, device_{device}, limits_{limits} {}
    CudaAccelerator(const CudaAccelerator&) = delete;
    CudaAccelerator& operator=(const CudaAccelerator&) = delete;
    ~CudaAccelerator() override;

    Attempt<Performed> open();
    [[nodiscard]] const AcceleratorLimits& limits() const override { return limits_; }
    Attempt<Performed> allocate(Bytes size, Bytes staging) override;
    [[nodiscard]] std::span<std::byte> staging() override { return staging_; }
    Attempt<Performed> prepare(Kernel kernel) override;
    Attempt<Performed> transfer(Direction direction,
                                Buffer buffer,
                                Bytes size,
                                std::uint32_t times) override;
    Attempt<Performed> run(const Work& work) override;

private:
    /// Nothing, or what the call's answer means.
    [[nodiscard]] Attempt<Performed> done(std::string_view call, cuda::CudaResult code) const {
        if (code != kSuccess)
            return cuda::cuda_refusal(names_, call, code);
        return Performed{};
    }
    Attempt<cuda::Module> module_of(std::size_t kernel);
    Attempt<Performed> finish();

    cuda::Symbols names_;
    cuda::ComputeSymbols api_;
    cuda::Device device_;
    AcceleratorLimits limits_;
    cuda::Context context_ = nullptr;
    cuda::Event end_ = nullptr;
    std::array<cuda::DevicePointer, 2> buffers_ = {};
    std::span<std::byte> staging_ = {};
    std::array<cuda::Module, kKernels> modules_ = {};  ///< at the first kernel of each
    std::array<cuda::Function, kKernels> functions_ = {};
};

/// Whatever a teardown answers, there is nothing left to do about it.
CudaAccelerator::~CudaAccelerator() {
    if (!context_)
        return;
    for (const auto module : modules_)
        if (module)
            (void)api_.unload_module(module);
    for (const auto buffer : buffers_)
        if (buffer != 0)
            (void)api_.free(buffer);
    if (!staging_.empty())
        (void)api_.free_host(staging_.data());
    if (end_)
        (void)api_.destroy_event(end_);
    (void)api_.release(device_);
}

Attempt<Performed> CudaAccelerator::open() {
    (void)TRY(done("cuDevicePrimaryCtxRetain", api_.retain(&context_, device_)));
    (void)TRY(done("cuCtxSetCurrent", api_.set_current(context_)));
    (void)TRY(done("cuEventCreate", api_.create_event(&end_, cuda::kEventDisableTiming)));
    std::size_t free = 0;
    std::size_t total = 0;
    if (api_.memory_info(&free, &total) == kSuccess)
        limits_.free = Bytes{free};
    return Performed{};
}

Attempt<Performed> CudaAccelerator::allocate(Bytes size, Bytes staging) {
    for (auto& buffer : buffers_)
        (void)TRY(done("cuMemAlloc", api_.allocate(&buffer, size.count)));
    void* memory = nullptr;
    (void)TRY(done("cuMemHostAlloc", api_.allocate_host(&memory, staging.count, 0)));
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return Performed{};
}

Attempt<cuda::Module> CudaAccelerator::module_of(std::size_t kernel) {
    std::size_t first = 0;
    while (kCode[first].module_text != kCode[kernel].module_text)
        ++first;
    auto& module = modules_[first];
    if (!module)
        (void)TRY(done("cuModuleLoadData",
                       api_.load_module(&module, kCode[kernel].module_text().data())));
    return module;
}

Attempt<Performed> CudaAccelerator::prepare(Kernel kernel) {
    const auto number = static_cast<std::size_t>(kernel);
    if (functions_[number])
        return Performed{};
    const auto module = TRY(module_of(number));
    return done("cuModuleGetFunction",
                api_.function(&functions_[number], module, kCode[number].function));
}

Attempt<Performed> CudaAccelerator::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    auto from = buffers_[static_cast<std::size_t>(work.from)];
    auto to = buffers_[static_cast<std::size_t>(other(work.from))];
    auto arguments = work.arguments;
    std::array<void*, 5> parameters = {&from, &to, &arguments.rounds, &arguments.factor,
                                       &arguments.addend};
    const auto function = functions_[static_cast<std::size_t>(work.kernel)];
    for (std::uint32_t i = 0; i < work.times; ++i)
        (void)TRY(done("cuLaunchKernel", api_.launch(function, work.groups, 1, 1, kGroupThreads, 1,
                                                     1, 0, nullptr, parameters.data(), nullptr)));
    return finish();
}

Attempt<Performed> CudaAccelerator::transfer(Direction direction,
                                             Buffer buffer,
                                             Bytes size,
                                             std::uint32_t times) {
    const auto device = buffers_[static_cast<std::size_t>(buffer)];
    for (std::uint32_t i = 0; i < times; ++i) {
        if (direction == Direction::ToDevice)
            (void)TRY(done("cuMemcpyHtoDAsync",
                           api_.to_device(device, staging_.data(), size.count, nullptr)));
        else
            (void)TRY(done("cuMemcpyDtoHAsync",
                           api_.to_host(staging_.data(), device, size.count, nullptr)));
    }
    return finish();
}

/// By an event that is asked for: cuCtxSynchronize has no limit.
Attempt<Performed> CudaAccelerator::finish() {
    (void)TRY(done("cuEventRecord", api_.record(end_, nullptr)));
    return wait_until(
        [this]() -> Attempt<bool> {
            const auto code = api_.query(end_);
            if (code == cuda::kNotReady)
                return false;
            if (code != kSuccess)
                return cuda::cuda_refusal(names_, "cuEventQuery", code);
            return true;
        },
        Waiting::Spinning);
}

/// Source: PTX ISA, the targets of fma.f16x2 and dp4a.
AcceleratorLimits limits_of(const DeviceFacts& facts) {
    const auto* text = facts.extra.at("compute_capability").as_string();
    const auto version = text ? leading_version(*text) : std::nullopt;
    AcceleratorLimits limits;
    limits.has_fp16 = version && *version >= Version{{5, 3}};
    limits.has_int8 = version && *version >= Version{{6, 1}};
    return limits;
}

}  // namespace

Attempt<std::unique_ptr<Accelerator>> open_cuda(const DynamicLibrary& library,
                                                const cuda::Symbols& api,
                                                cuda::Device device,
                                                const DeviceFacts& facts) {
    (void)TRY(nvidia_free_memory(facts));
    const auto compute = cuda::load_compute(library);
    if (!compute)
        return Refusal{.code = "api-refused", .note = compute.error().text};
    auto accelerator = std::make_unique<CudaAccelerator>(api, *compute, device, limits_of(facts));
    (void)TRY(accelerator->open());
    return std::unique_ptr<Accelerator>{std::move(accelerator)};
}

}  // namespace gpuprobe
