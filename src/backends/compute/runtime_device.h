// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "backends/compute/device.h"
#include "backends/symbols.h"

namespace gpuprobe::backends {

/// The functions that the CUDA driver and the HIP runtime have in common: everything but
/// compilation. They return 0 for success. Sources: CUDA Driver API reference; HIP Runtime API
/// reference.
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
    /// Call this when the context is current. The context is released after everything that was
    /// created in it.
    Attempt<Done> begin(Owned<void*> context = {});

    /// The index of the first kernel in the same module (first_in_module()).
    [[nodiscard]] virtual std::size_t module_of(Kernel kernel) const = 0;
    /// The image of that module, in the form that load_module accepts.
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
    // Keep this order: members are destroyed from last to first, so the context goes last.
    Owned<void*> context_ = {};
    Owned<void*> end_event_ = {};
    Owned<void*> host_ = {};
    std::array<Owned<void*>, 2> buffers_ = {};
    std::array<Owned<void*>, kKernels> modules_ = {};  ///< by module_of()
    std::array<void*, kKernels> functions_ = {};
};

}  // namespace gpuprobe::backends
