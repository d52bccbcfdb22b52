// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "backends/compute/device.h"

namespace gpuprobe::backends {

/// A function of a driver's library, under the name that its documentation has for it.
template <class Function>
struct NamedFunction {
    const char* name = nullptr;
    Function* call = nullptr;
};

/// What CUDA's driver and HIP's runtime have in common, which is all but the making of code. Zero
/// is success. Sources: CUDA Driver API reference; HIP Runtime API reference.
struct GpuRuntime {
    NamedFunction<int(std::size_t* free, std::size_t* total)> memory_info = {};
    NamedFunction<int(void**, std::size_t)> allocate = {};
    NamedFunction<int(void*)> free = {};
    NamedFunction<int(void**, std::size_t, unsigned flags)> allocate_host = {};
    NamedFunction<int(void*)> free_host = {};
    NamedFunction<int(void** module, const void* image)> load_module = {};
    NamedFunction<int(void* module)> unload_module = {};
    NamedFunction<int(void** function, void* module, const char* name)> function = {};
    NamedFunction<int(void* function,
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
    NamedFunction<int(void* device, const void* host, std::size_t, void* stream)> to_device = {};
    NamedFunction<int(void* host, void* device, std::size_t, void* stream)> to_host = {};
    NamedFunction<int(void** event, unsigned flags)> create_event = {};
    NamedFunction<int(void* event)> destroy_event = {};
    NamedFunction<int(void* event, void* stream)> record = {};
    NamedFunction<int(void* event)> query = {};
};

/// A device of such a runtime, in a context that is current.
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
    /// To be called when the context is current, and before it goes.
    Attempt<Done> begin();
    void end();

    /// Kernels of one group are in one module, whose image `image_of` makes.
    [[nodiscard]] virtual std::size_t group_of(Kernel kernel) const = 0;
    virtual Attempt<const void*> image_of(Kernel kernel) = 0;
    [[nodiscard]] virtual Refusal refusal(const char* call, int code) const = 0;

    /// Calls the function, and makes a refusal of what is not zero.
    template <class Function, class... Arguments>
    Attempt<Done> call(const NamedFunction<Function>& function, Arguments... arguments) const {
        if (const int code = function.call(arguments...); code != 0)
            return refusal(function.name, code);
        return Done{};
    }

private:
    Attempt<Done> finish();

    GpuRuntime api_;
    void* end_event_ = nullptr;
    std::array<void*, 2> buffers_ = {};
    std::array<void*, kKernels> modules_ = {};  ///< by group
    std::array<void*, kKernels> functions_ = {};
};

}  // namespace gpuprobe::backends
