// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <algorithm>
#include <tuple>

#include "base/value.h"
#include "base/version.h"
#include "report/fact_key.h"

namespace gpuprobe::inline report {

RECORD_DEFINE_CONVERSIONS(Host)
RECORD_DEFINE_CONVERSIONS(Gpu)
RECORD_DEFINE_CONVERSIONS(Report)

const Gpu* find_gpu(const Report& report, std::string_view id) {
    const auto found = std::ranges::find(report.gpus, id, &Gpu::id);
    return found == report.gpus.end() ? nullptr : &*found;
}

/// A carve-out is only a small part of the usable memory, so `physical` is used only for other
/// kinds.
std::optional<Bytes> offered_memory(const GpuMemory& memory) {
    const bool is_own = memory.physical && memory.kind != MemoryKind::Carveout;
    return is_own ? memory.physical : memory.allocatable;
}

Result<Report> parse_report(std::string_view json) {
    auto value = parse_json(json, kMaxReport);
    if (!value)
        return std::move(value).error().in("report");
    // Check the schema first, so that another version is reported as such and not as a malformed
    // member.
    if (value->at("schema").as_int() != kReportSchema)
        return Error{ErrorCode::Malformed, "report: schema: not " + std::to_string(kReportSchema)};
    auto report = record_from<Report>(*value);
    if (!report)
        return std::move(report).error().in("report");
    return report;
}

namespace {

/// The sort key for usability: 0 if a backend is usable, 1 if it is unknown whether some backend is
/// usable, 2 otherwise.
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

/// The size rounded to GiB, because two cards with 24 GiB differ by the memory that their drivers
/// reserve.
std::uint64_t whole_gibibytes(Bytes size) {
    return (size.count + mib(512).count) / gib(1).count;
}

/// The compute capability, which orders NVIDIA's GPUs by generation; nullopt for other vendors.
std::optional<Version> generation_of(const Gpu& gpu) {
    const auto& known = gpu.architecture.cuda_compute_capability;
    return known ? leading_version(*known) : std::nullopt;
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

bool comes_before(const Gpu& left, const Gpu& right) {
    const auto order = [](const Gpu& gpu, const Gpu& other) {
        const auto size = offered_memory(other.memory).value_or(Bytes{});
        // More memory and a newer generation come first, so these values are taken from `other`.
        return std::tuple{usability(gpu),       gpu.kind, whole_gibibytes(size),
                          generation_of(other), size,     std::string_view{gpu.id}};
    };
    return order(left, right) < order(right, left);
}

void mark_primary(std::vector<Gpu>& gpus, const std::vector<const HardwareDevice*>& hardware) {
    // The decision is made by the first test that at least one GPU passes. A GPU is marked only if
    // no other GPU passes this test.
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

}  // namespace gpuprobe::inline report
