// SPDX-License-Identifier: Apache-2.0
#include "backends/nvml/free_memory.h"

#include "backends/nvml/nvml.h"

namespace gpuprobe::backends {
Attempt<std::optional<Bytes>> nvidia_free_memory(const DeviceFacts& facts) {
    if (facts.vendor_id != "10de" || !facts.pci)
        return std::optional<Bytes>{};
    const auto free = nvml_free_memory(*facts.pci);
    if (!free || *free >= kMinNvidiaFree)
        return free;
    Value detail;
    detail["have"] = to_value(*free);
    detail["need"] = to_value(kMinNvidiaFree);
    return Refusal{.code = "out-of-memory",
                   .note = "too little device memory is free for a context",
                   .detail = std::move(detail)};
}

}  // namespace gpuprobe::backends
