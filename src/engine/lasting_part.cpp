// SPDX-License-Identifier: Apache-2.0
#include "engine/lasting_part.h"

#include <algorithm>

namespace gpuprobe {
namespace {

/// Vulkan's budget of a heap is what other programs have left of it.
void forget_budgets(Value& device) {
    auto* const heaps = device.find("heaps");
    if (auto* items = heaps ? heaps->as_array() : nullptr)
        for (auto& heap : *items)
            for (const char* key : {"budget", "usage"})
                if (auto* size = heap.find(key))
                    *size = Value{};
}

void forget_free_memory(Value& device) {
    if (auto* memory = device.find("memory"); memory && memory->is_object())
        (*memory)["free"] = Value{};
    forget_budgets(device);
}

void forget_free_memory(GpuMemory& memory) {
    memory.free.reset();
    memory.free_at.reset();
    std::erase_if(memory.evidence, [](const MemoryReading& reading) {
        return reading.what.find("free") != std::string::npos ||
               reading.what.find("used") != std::string::npos;
    });
}

/// When something was found again, and how long that took, is no news.
template <class Holder>
void forget_instants(Holder& holder) {
    if (holder.verification)
        holder.verification->at.reset();
    if (holder.measurement) {
        holder.measurement->at.reset();
        holder.measurement->duration.reset();
    }
}

}  // namespace

Report lasting_part(Report report) {
    report.generation = 0;
    report.created.reset();
    report.source = ReportSource::Live;
    report.host.memory.available.reset();
    for (auto& probe : report.probes)
        probe.duration.reset();
    for (auto& gpu : report.gpus) {
        forget_free_memory(gpu.memory);
        gpu.power.runtime_status.reset();  // falling asleep is nobody's news
        for (auto& [api, view] : gpu.apis) {
            view.age.reset();
            forget_free_memory(view.device);
            if (auto* load = view.device.find("gpu_utilization"))
                *load = Value{};
        }
        for (auto& [name, view] : gpu.backends)
            forget_instants(view);
    }
    forget_instants(report.host.cpu);
    // What pocl has in all is what the host could give at that moment.
    for (auto& software : report.software) {
        if (software.device.find("memory"))
            software.device["memory"] = Value{};
        forget_budgets(software.device);
        forget_instants(software);
    }
    return report;
}

}  // namespace gpuprobe
