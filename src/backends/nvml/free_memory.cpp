// SPDX-License-Identifier: Apache-2.0
#include "backends/nvml/free_memory.h"

#include "backends/nvml/nvml.h"

namespace gpuprobe {
namespace {

class FreeMemoryOf final : public Sink {
public:
    explicit FreeMemoryOf(const PciAddress& address) : address_{address} {}

    void phase(std::string_view) override {}
    void runtime(const Value&) override {}
    void device(const DeviceFacts& facts) override {
        if (facts.pci == address_ && facts.memory)
            free_ = facts.memory->free;
    }
    [[nodiscard]] std::optional<Bytes> free() const { return free_; }

private:
    PciAddress address_;
    std::optional<Bytes> free_ = {};
};

}  // namespace

Attempt<std::optional<Bytes>> nvidia_free_memory(const DeviceFacts& facts) {
    if (facts.vendor_id != "10de" || !facts.pci)
        return std::optional<Bytes>{};
    FreeMemoryOf sink{*facts.pci};
    (void)query_nvml(ProbeTarget{.api = "nvml"}, sink);  // without it, nothing is known
    const auto free = sink.free();
    if (!free || *free >= kMinNvidiaFree)
        return free;
    Value detail;
    detail["have"] = to_value(*free);
    detail["need"] = to_value(kMinNvidiaFree);
    return Refusal{.code = "out-of-memory",
                   .note = "too little device memory is free for a context",
                   .detail = std::move(detail)};
}

}  // namespace gpuprobe
