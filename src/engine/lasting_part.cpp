// SPDX-License-Identifier: Apache-2.0
#include "engine/lasting_part.h"

#include "report/fact_table.h"

namespace gpuprobe {
namespace {

/// What pocl has in all is what the host could give at that moment.
void forget_host_memory(Value& device) {
    if (auto* memory = device.find("memory"))
        *memory = Value{};
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
            forget_the_moment(view.device);
        }
        for (auto& [name, view] : gpu.backends)
            forget_instants(view);
    }
    forget_instants(report.host.cpu);
    for (auto& software : report.software) {
        forget_host_memory(software.device);
        forget_the_moment(software.device);
        forget_instants(software);
    }
    return report;
}

Value lasting_part(const ProbeResult& answer) {
    Value lasting;
    lasting["outcome"] = to_value(answer.outcome);
    lasting["runtime"] = answer.runtime;
    for (const auto& facts : answer.devices) {
        auto device = value_of(facts);
        if (facts.type == DeviceType::Cpu)
            forget_host_memory(device);
        forget_the_moment(device);
        lasting["devices"].push_back(std::move(device));
    }
    return lasting;
}

}  // namespace gpuprobe
