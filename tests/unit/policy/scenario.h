// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/value.h"
#include "policy/application_set.h"
#include "policy/recommend.h"
#include "report/report.h"
#include "support/places.h"

/// The machines that golden.json in tests/data/variants describes, as reports.
namespace gpuprobe::testing_variants {

inline std::string file(const std::string& path) {
    const RootedFiles files{GPUPROBE_SOURCE_DIR};
    auto text = files.read(path, mib(2));
    EXPECT_TRUE(text) << text.error().text;
    return text ? *text : std::string{};
}

inline Value document(const std::string& path) {
    auto value = parse_json(file(path), mib(2));
    EXPECT_TRUE(value) << path << ": " << value.error().text;
    return value ? *value : Value{};
}

inline Manifest sample(const std::string& name) {
    auto manifest = parse_manifest(file("/tests/data/variants/manifests/" + name + ".json"));
    EXPECT_TRUE(manifest) << name << ": " << manifest.error().text;
    return manifest ? std::move(manifest).value() : Manifest{};
}

inline const Rules& rules() {
    static const Rules kRules = [] {
        auto made = Rules::builtin();
        EXPECT_TRUE(made) << made.error().text;
        return made ? std::move(made).value() : Rules{};
    }();
    return kRules;
}

inline std::vector<std::string> texts(const Value& value) {
    std::vector<std::string> list;
    if (const auto* items = value.as_array())
        for (const auto& item : *items)
            list.push_back(item.as_string() ? *item.as_string() : "");
    return list;
}

inline std::optional<std::string> text(const Value& value) {
    return value.as_string() ? std::optional{*value.as_string()} : std::nullopt;
}

/// The members of `defaults`, replaced by those of `extra`.
inline Value merged(Value defaults, const Value& extra) {
    for (const auto& member : *extra.as_object())
        defaults[member.key] = member.value;
    return defaults;
}

inline Host host_from(const Value& facts) {
    Host host;
    host.os = text(facts.at("os"));
    host.arch = text(facts.at("arch"));
    host.kernel = text(facts.at("kernel"));
    host.libc = {.name = text(facts.at("libc")), .version = text(facts.at("glibc"))};
    host.cpu.level = text(facts.at("cpu_level"));
    host.cpu.features = texts(facts.at("cpu_features"));
    host.l4t = text(facts.at("l4t"));
    host.libraries = texts(facts.at("libs"));
    return host;
}

inline void add_drivers(const Value& drivers, Report& report) {
    const auto& cuda = drivers.at("nvidia");
    report.runtimes["cuda"] = {.outcome = cuda.is_null() ? Outcome::Absent : Outcome::Answered,
                               .version = text(cuda.at("cuda"))};
    const auto& rocm = drivers.at("rocm");
    report.runtimes["hip"] = {.outcome = rocm.is_null() ? Outcome::Absent : Outcome::Answered,
                              .release = text(rocm.at("version"))};
    const auto& loader = drivers.at("vulkan_loader");
    report.runtimes["vulkan"] = {.outcome = loader.is_null() ? Outcome::Absent : Outcome::Answered,
                                 .version = text(loader.at("instance"))};
}

inline DriverInfo driver_from(const Value& drivers, const std::string& vendor) {
    if (vendor == "intel")
        return {.name = "xe"};
    const auto& driver = drivers.at(vendor == "amd" ? "amdgpu" : "nvidia");
    if (vendor == "nvidia" && driver.is_null())
        return {.name = "nouveau"};
    return {.name = vendor == "amd" ? "amdgpu" : "nvidia", .version = text(driver.at("version"))};
}

inline GpuKind kind_from(const Value& word) {
    if (*word.as_string() == "tegra")
        return GpuKind::Integrated;
    return enum_from<GpuKind>(*word.as_string()).value();
}

inline Gpu gpu_from(const Value& device, const Value& drivers) {
    Gpu gpu{.id = *device.at("id").as_string(),
            .kind = kind_from(device.at("kind")),
            .vendor = text(device.at("vendor"))};
    gpu.driver = driver_from(drivers, *gpu.vendor);
    // A Tegra GPU is not a PCI device. The table has no PCI classes, so assume that all others are
    // VGA controllers, as most GPUs are.
    if (*device.at("kind").as_string() == "tegra")
        gpu.id = "platform:gpu.0";
    else
        gpu.pci = PciInfo{.pci_class = "0300"};
    gpu.architecture = {.cuda_compute_capability = text(device.at("cc")),
                        .gfx_target = text(device.at("gfx")),
                        .intel_ip = text(device.at("ip"))};
    if (const auto size = device.at("vram_mib").as_unsigned(); size && *size > 0)
        gpu.memory = {.kind = MemoryKind::Dedicated, .physical = mib(*size)};
    for (const auto& [api, usable] : *device.at("usable").as_object()) {
        const auto backend = find_api(api)->backend;
        gpu.backends[std::string{backend}].usable = usable.as_bool();
    }
    for (const auto* backend : {"cuda", "rocm", "sycl"})
        if (!gpu.backends.contains(backend))
            gpu.backends[backend].usable = false;
    gpu.apis["vulkan"] = {.outcome = Outcome::Answered,
                          .version = text(device.at("vulkan").at("api")),
                          .device = device.at("vulkan")};
    return gpu;
}

inline Report report_from(const Value& facts, const Value& host_defaults) {
    Report report{.generation = 1, .state = ReportState::Ready};
    report.host = host_from(merged(host_defaults, facts.at("host")));
    add_drivers(facts.at("drivers"), report);
    for (const auto& device : *facts.at("devices").as_array())
        report.gpus.push_back(gpu_from(device, facts.at("drivers")));
    return report;
}

/// The machine of the scenario with that id.
inline Report machine(const std::string& id) {
    static const Value kGolden = document("/tests/data/variants/golden.json");
    for (const auto& scenario : *kGolden.at("scenarios").as_array())
        if (scenario.at("id") == Value{id})
            return report_from(scenario.at("report"), kGolden.at("host_defaults"));
    ADD_FAILURE() << "no scenario " << id;
    return {};
}

inline const VariantCandidate* candidate(const Recommendation& answer, const std::string& name) {
    for (const auto& entry : answer.candidates)
        if (entry.variant == name)
            return &entry;
    return nullptr;
}

/// The predicates in a candidate's reasons.
inline std::vector<std::string> predicates_of(const VariantCandidate& candidate) {
    std::vector<std::string> names;
    for (const auto& reason : candidate.reasons)
        if (const auto* name = reason.detail.at("predicate").as_string())
            names.push_back(*name);
    return names;
}

}  // namespace gpuprobe::testing_variants
