// SPDX-License-Identifier: Apache-2.0
#include "report/ranking.h"

#include <algorithm>
#include <tuple>

#include "report/fact_key.h"

namespace gpuprobe {
namespace {

/// 0 when a backend is usable, 1 when that is open, 2 otherwise.
int usability(const Gpu& gpu) {
    int best = 2;
    for (const auto& [name, view] : gpu.backends) {
        if (view.usable == true)
            return 0;
        if (!view.usable)
            best = 1;
    }
    return best;
}

using Test = bool (*)(const Gpu&, const HardwareDevice*);

bool shows_boot(const Gpu&, const HardwareDevice* hardware) {
    return hardware && hardware->boot_vga == true;
}
bool has_screen(const Gpu&, const HardwareDevice* hardware) {
    return hardware && fact(*hardware, kernel_facts::kConnected) == true;
}
bool is_more_than_display(const Gpu& gpu, const HardwareDevice*) {
    return gpu.kind != GpuKind::DisplayOnly;
}

}  // namespace

void rank(std::vector<Gpu>& gpus) {
    // Enumerators of GpuKind are in order of preference.
    std::ranges::sort(gpus, [](const Gpu& left, const Gpu& right) {
        return std::tuple{usability(left), left.kind,
                          offered_memory(right.memory).value_or(Bytes{}), left.id} <
               std::tuple{usability(right), right.kind,
                          offered_memory(left.memory).value_or(Bytes{}), right.id};
    });
}

void mark_primary(std::vector<Gpu>& gpus, const std::vector<const HardwareDevice*>& hardware) {
    for (const Test test : {&shows_boot, &has_screen, &is_more_than_display}) {
        Gpu* only = nullptr;
        std::size_t matches = 0;
        for (std::size_t i = 0; i < gpus.size(); ++i)
            if (test(gpus[i], hardware[i])) {
                only = only ? only : &gpus[i];
                ++matches;
            }
        if (matches == 1)
            only->primary = true;
        if (matches > 0)
            return;
    }
}

}  // namespace gpuprobe
