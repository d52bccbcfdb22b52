// SPDX-License-Identifier: Apache-2.0
// Measures the time of a recommendation with all reasons, for 10,000 variants from 20 manifests on
// 16 GPUs, and for a manifest of the largest size that gpuprobe accepts. Use a release build.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>

#include "base/value.h"
#include "policy/application_set.h"
#include "policy/evaluate.h"
#include "policy/fact.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kGpus = 16;
constexpr int kManifests = 20;
constexpr std::size_t kVariantsOfOne = 500;

Rules rules() {
    auto made = Rules::builtin();
    if (!made) {
        std::fprintf(stderr, "%s\n", made.error().text.c_str());
        std::exit(1);
    }
    return std::move(made).value();
}

/// A machine with kGpus GPUs. If `alike` is false, all GPUs differ, so that gpuprobe cannot reuse
/// the result for an equal GPU.
Report machine(bool alike) {
    constexpr const char* kCapabilities[] = {"6.1", "7.0", "7.5", "8.0",
                                             "8.6", "8.9", "9.0", "12.0"};
    Report report;
    report.host = {.os = "linux",
                   .arch = "x86_64",
                   .kernel = "6.8.0",
                   .libc = {.name = "glibc", .version = "2.39"},
                   .cpu = {.level = "x86-64-v3", .features = {"avx2", "fma", "sse4_2"}}};
    report.runtimes["cuda"] = {.outcome = Outcome::Answered, .version = "12.4"};
    report.runtimes["vulkan"] = {.outcome = Outcome::Answered, .version = "1.3.275"};
    for (std::size_t i = 0; i < kGpus; ++i) {
        const auto step = alike ? 0 : i;
        Gpu gpu{.id = "pci:0000:" + std::to_string(10 + i) + ":00.0",
                .kind = GpuKind::Discrete,
                .vendor = "nvidia"};
        gpu.driver = {.name = "nvidia", .version = "550.54.14"};
        gpu.memory = {.kind = MemoryKind::Dedicated, .physical = mib(8192 + 1024 * step)};
        gpu.architecture.cuda_compute_capability = kCapabilities[step % std::size(kCapabilities)];
        gpu.backends["cuda"].usable = true;
        gpu.backends["vulkan"].usable = true;
        report.gpus.push_back(std::move(gpu));
    }
    return report;
}

/// A manifest in which three of four variants need a GPU, each with a different amount of memory.
std::string manifest_text(std::size_t variants) {
    std::string text =
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)";
    for (std::size_t i = 0; i < variants; ++i) {
        const auto memory = std::to_string(4096 + i);
        text += (i == 0 ? "" : ",") + ("\"v" + std::to_string(i)) +
                R"(":{"family":"cuda","tier":)" + std::to_string(i % 7 * 100) + R"(,"priority":)" +
                std::to_string(i) + R"(,"requires":{"host":{"glibc_min":"2.28"})";
        if (i % 4 != 0)
            text += R"(,"device":{"backend":"cuda","cuda":{"toolkit":"12.)" +
                    std::to_string(i % 9) +
                    R"(","sass":["7.5","8.0","8.6","9.0"],"ptx":["9.0"]},"vram_min_mib":)" +
                    memory + "}";
        text += "}}";
    }
    return text + "}}}}";
}

Manifest manifest(std::size_t variants) {
    auto made = parse_manifest(manifest_text(variants));
    if (!made) {
        std::fprintf(stderr, "%s\n", made.error().text.c_str());
        std::exit(1);
    }
    return std::move(made).value();
}

/// Computes the choice, the fallback chain and all verdicts. The report and the manifests have
/// already been read.
void evaluate_all(benchmark::State& state) {
    const auto known = rules();
    const auto variants = manifest(kVariantsOfOne);
    const auto report = machine(state.range(0) == 1);
    for (auto _ : state) {
        const auto facts = machine_facts(report, known);
        for (int i = 0; i < kManifests; ++i)
            benchmark::DoNotOptimize(evaluate(variants.platforms.front(), {}, facts, {}, {}));
    }
}
BENCHMARK(evaluate_all)->ArgName("alike")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// Computes the complete answer, with the reasons for each variant on each GPU.
void recommend_with_reasons(benchmark::State& state) {
    const auto known = rules();
    const auto variants = manifest(static_cast<std::size_t>(state.range(0)));
    const auto report = machine(false);
    const RecommendRequest request{.include_rejected = state.range(1) == 1};
    for (auto _ : state)
        benchmark::DoNotOptimize(recommend(variants, request, report, known));
}
BENCHMARK(recommend_with_reasons)
    ->ArgNames({"variants", "rejected"})
    ->Args({512, 0})
    ->Args({512, 1})
    ->Unit(benchmark::kMillisecond);

void parse(benchmark::State& state) {
    const auto text = manifest_text(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state)
        benchmark::DoNotOptimize(parse_manifest(text));
}
BENCHMARK(parse)->ArgName("variants")->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gpuprobe

BENCHMARK_MAIN();
