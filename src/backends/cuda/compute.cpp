// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/compute.h"

#include <array>

#include "backends/driver_library.h"
#include "backends/nvml/nvidia_gpu.h"
#include "base/version.h"

namespace gpuprobe::backends {
namespace {

using Text = std::string_view (*)();

/// The module text for each kernel. Kernels with the same text are in the same module.
constexpr std::array<Text, kKernels> kTexts = {
    cuda_module_check, cuda_module_base, cuda_module_base, cuda_module_base,
    cuda_module_base,  cuda_module_fp16, cuda_module_int8};

/// The reason code for an error during a later stage.
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
        case 700:  // CUDA_ERROR_ILLEGAL_ADDRESS: the context is unusable from here on
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
    /// Reports the function under its name in the reference, without the ABI suffix.
    [[nodiscard]] Refusal refusal(std::string_view function, int code) const override {
        return refused_call(trial_reason(code), function.substr(0, function.find("_v2")),
                            cuda::words_of(names_, code), code);
    }

    cuda::Symbols names_;
    cuda::ComputeSymbols api_;
};

/// The kernels that the device supports, by its compute capability. Source: PTX ISA, the targets of
/// fma.f16x2 and dp4a.
ComputeLimits limits_of(const DeviceFacts& facts) {
    const auto* text = facts.extra.at("compute_capability").as_string();
    const auto version = text ? leading_version(*text) : std::nullopt;
    ComputeLimits limits;
    limits.has_fp16 = version && *version >= Version{{5, 3}};
    limits.has_int8 = version && *version >= Version{{6, 1}};
    return limits;
}

}  // namespace

Attempt<std::unique_ptr<ComputeDevice>> open_cuda(const DynamicLibrary& library,
                                                  const cuda::Symbols& api,
                                                  cuda::Device device,
                                                  const DeviceFacts& facts) {
    // Check for free memory first: creating the context needs half a gigabyte.
    (void)TRY(nvidia_free_memory(facts));
    const auto compute = TRY(compute_functions<cuda::ComputeSymbols>(library));
    return opened(std::make_unique<CudaDevice>(api, compute, limits_of(facts)), device);
}

}  // namespace gpuprobe::backends
