// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "export/formats.h"
#include "support/places.h"

/// Machines of a fleet, as reports that contain only the data that an export reads.
namespace gpuprobe::testing_fleet {

inline const Rules& rules() {
    static const Rules kRules = [] {
        auto made = Rules::builtin();
        EXPECT_TRUE(made) << made.error().text;
        return made ? std::move(made).value() : Rules{};
    }();
    return kRules;
}

inline DeviceNode node(const std::string& path) {
    return {.path = path, .accessible = true};
}

inline BackendView works(bool usable) {
    return {.usable = usable, .verified = usable};
}

inline Gpu h200(const std::string& address = "0000:18:00.0", const std::string& minor = "0") {
    Gpu gpu{.id = "pci:" + address,
            .kind = GpuKind::Discrete,
            .vendor = "nvidia",
            .name = "NVIDIA H200",
            .pci = PciInfo{.address = parse_text(address, std::type_identity<PciAddress>{})},
            .driver = {.name = "nvidia", .version = "580.95.05", .flavour = "open"},
            .nodes = {node("/dev/nvidia" + minor), node("/dev/dri/card" + minor)}};
    gpu.memory = {.kind = MemoryKind::Dedicated, .physical = Bytes{150754820096}};
    gpu.identity.nvidia_uuid = "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c";
    gpu.architecture.cuda_compute_capability = "9.0";
    gpu.apis["vulkan"] = {.outcome = Outcome::Answered, .version = "1.4.312"};
    gpu.backends = {{"cuda", works(true)}, {"rocm", works(false)}, {"vulkan", works(true)}};
    return gpu;
}

inline Gpu raphael() {
    Gpu gpu{.id = "pci:0000:c5:00.0",
            .kind = GpuKind::Integrated,
            .vendor = "amd",
            .name = "AMD Radeon Graphics (Raphael)",
            .pci = PciInfo{.address = parse_text("0000:c5:00.0", std::type_identity<PciAddress>{})},
            .driver = {.name = "amdgpu", .version = "6.18.44"},
            .nodes = {node("/dev/dri/card2"), node("/dev/dri/renderD129")}};
    gpu.memory = {.kind = MemoryKind::Carveout, .physical = mib(512), .allocatable = mib(512)};
    gpu.architecture.gfx_target = "gfx1036";
    gpu.apis["vulkan"] = {.outcome = Outcome::Answered, .version = "1.4.318"};
    gpu.backends = {{"cuda", works(false)}, {"rocm", works(false)}, {"vulkan", works(true)}};
    return gpu;
}

/// The fact `video` with these formats: "decode av1".
inline Value formats(std::initializer_list<std::string_view> texts) {
    Value list{Value::Array{}};
    for (const auto text : texts) {
        const auto space = text.find(' ');
        list.push_back(
            to_value(VideoEntry{.direction = enum_from<VideoDirection>(text.substr(0, space)),
                                .codec = std::string{text.substr(space + 1)},
                                .name = "x"}));
    }
    return list;
}

inline Report report_of(std::vector<Gpu> gpus) {
    Report report{.generation = 3,
                  .state = ReportState::Ready,
                  .created = WallTime{std::chrono::seconds{1795216000}}};
    report.host.arch = "x86_64";
    report.host.libc = {.name = "glibc", .version = "2.36"};
    report.host.cpu = {.level = "x86-64-v3", .features = {"avx2"}};
    report.gpus = std::move(gpus);
    report.runtimes["cuda"] = {.outcome = Outcome::Answered, .version = "13.0"};
    return report;
}

/// An H200 and the GPU of an AMD processor, with the compute nodes of both vendors.
inline Report mixed() {
    auto report = report_of({h200(), raphael()});
    report.nodes = {node("/dev/nvidiactl"), node("/dev/kfd")};
    return report;
}

/// An H200 with two instances, of which Slurm's configuration can describe only the first.
inline Report divided() {
    auto gpu = h200();
    gpu.partitions = {{.name = "mig-1",
                       .profile = "3g.71gb",
                       .gpu_instance = 1,
                       .memory = FactMemory{.total = gib(70)},
                       .nodes = {"/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"}},
                      {.name = "mig-9", .profile = "1g.18gb+me"}};
    return report_of({gpu});
}

inline VariantCandidate judged(const std::string& variant, Verdict verdict) {
    return {.variant = variant, .verdict = verdict};
}

inline Recommendation llama() {
    using enum Verdict;
    return {.application = "llama.cpp",
            .variant = "cuda13",
            .candidates = {judged("cuda13", Accepted), judged("cuda12", Uncertain),
                           judged("vulkan", Accepted), judged("rocm7", Rejected)}};
}

inline ExportSubject subject_of(const Report& report, std::vector<Recommendation> answers = {}) {
    return {.report = report,
            .rules = rules(),
            .answers = std::move(answers),
            .version = "0.1.0",
            .node = "vm",
            .observed = report.created,
            .expires = WallTime{std::chrono::seconds{1795302400}}};
}

inline std::vector<std::string> codes(const std::vector<ExportRemark>& remarks) {
    std::vector<std::string> all;
    for (const auto& remark : remarks)
        all.push_back(remark.code);
    return all;
}

inline bool has_line(const Exported& exported, const std::string& line) {
    const auto text = exported.text.value_or("");
    for (const auto part : split(text, '\n'))
        if (part == line)
            return true;
    return false;
}

/// The content of the file with that name in tests/data/fleet. With UPDATE_GOLDEN, `text` is
/// written to the file first.
inline std::string golden(const std::string& name, const std::string& text) {
    const auto path = std::string{GPUPROBE_SOURCE_DIR} + "/tests/data/fleet/" + name;
    if (std::getenv("UPDATE_GOLDEN")) {
        EXPECT_TRUE(write_atomically(path, text));
    }
    const auto found = RootedFiles{}.read(path, mib(1));
    return found ? *found : found.error().text;
}

}  // namespace gpuprobe::testing_fleet
