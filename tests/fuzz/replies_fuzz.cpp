// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <span>

#include "backends/drm/facts.h"
#include "backends/hip/hip.h"
#include "backends/texts.h"
#include "backends/vulkan/vulkan.h"
#include "fuzz/input.h"

/// Reads replies of kernel drivers and libraries as a worker does. The counts and lengths in a
/// reply may exceed the reply.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    using namespace gpuprobe::backends;
    const auto bytes = std::as_bytes(std::span{data, size});
    for (const auto& regions : {i915_regions(bytes), xe_regions(bytes)}) {
        if (!regions)
            continue;
        (void)device_memory(*regions);
        (void)value_of(*regions);
    }
    (void)xe_has_vram(bytes);
    (void)xe_ip_version(bytes);
    const auto text = support::text_of_input(data, size);
    (void)rocm_uuid(text);
    (void)gfx_target_in(text);
    (void)with_egl_library(text);
    return 0;
}
