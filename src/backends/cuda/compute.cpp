// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/compute.h"

#include <algorithm>
#include <array>

#include "backends/cuda/cuda_compute_abi.h"
#include "backends/cuda/kernels.h"
#include "backends/nvml/nvidia_gpu.h"
#include "base/dotted_version.h"

namespace gpuprobe::backends {
namespace {

using Text = std::string_view (*)();

/// By kernel; those with one text are in one module.
constexpr std::array<Text, kKernels> kTexts = {
    cuda_module_check, cuda_module_base, cuda_module_base, cuda_module_base,
    cuda_module_base,  cuda_module_fp16, cuda_module_int8};

class CudaDevice final : public RuntimeDevice {
public:
    CudaDevice(const cuda::Symbols& names,
               const cuda::ComputeSymbols& api,
               cuda::Device device,
               const ComputeLimits& limits)
        : RuntimeDevice{api.runtime, limits}, names_{names}, api_{api}, device_{device} {}
    ~CudaDevice() override {
        if (!context_)
            return;
        end();
        (void)api_.release.call(device_);
    }

    Attempt<Done> open() {
        (void)TRY(call(api_.retain, &context_, device_));
        (void)TRY(call(api_.set_current, context_));
        return begin();
    }

private:
    [[nodiscard]] std::size_t group_of(Kernel kernel) const override {
        const auto text = kTexts[static_cast<std::size_t>(kernel)];
        return static_cast<std::size_t>(std::ranges::find(kTexts, text) - kTexts.begin());
    }
    Attempt<const void*> image_of(Kernel kernel) override {
        return static_cast<const void*>(kTexts[static_cast<std::size_t>(kernel)]().data());
    }
    [[nodiscard]] Refusal refusal(const char* name, int code) const override {
        return cuda::cuda_refusal(names_, name, code);
    }

    cuda::Symbols names_;
    cuda::ComputeSymbols api_;
    cuda::Device device_;
    cuda::Context context_ = nullptr;
};

/// Source: PTX ISA, the targets of fma.f16x2 and dp4a.
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
    (void)TRY(nvidia_free_memory(facts));
    const auto compute = cuda::load_compute(library);
    if (!compute)
        return Refusal{.code = "api-refused", .note = compute.error().text};
    auto opened = std::make_unique<CudaDevice>(api, *compute, device, limits_of(facts));
    (void)TRY(opened->open());
    return std::unique_ptr<ComputeDevice>{std::move(opened)};
}

}  // namespace gpuprobe::backends
