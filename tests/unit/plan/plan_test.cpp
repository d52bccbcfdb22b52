// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gtest/gtest.h>

#include "models.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace plan_test {

using support::model_named;
using Ids = std::vector<std::string>;

Gpu gpu(const std::string& id, Bytes free, const std::string& backend = "cuda") {
    Gpu made{.id = id, .kind = GpuKind::Discrete, .vendor = "nvidia"};
    made.memory = {.kind = MemoryKind::Dedicated,
                   .physical = Bytes{free.count * 2},
                   .allocatable = Bytes{free.count + mib(512).count},
                   .free = free};
    made.backends[backend] = {.usable = true};
    return made;
}

Report machine(std::vector<Gpu> gpus) {
    Report report{.gpus = std::move(gpus)};
    report.host.memory = {.total = gib(64), .available = gib(32)};
    return report;
}

PlanRequest bytes_needed(Bytes need) {
    return {.need = need, .margin = Bytes{}};
}

PlanRequest for_model(const std::string& name, std::uint64_t context) {
    return {.model = model_named(name), .run = {.context = context}};
}

// Limits of each fit ---------------------------------------------------------------------------

struct BorderRow {
    const char* name;
    std::uint64_t free;
    Fit fit;
};
class Border : public ::testing::TestWithParam<BorderRow> {};

TEST_P(Border, IsWhereATenthIsSpare) {
    const auto answer =
        planned(bytes_needed(Bytes{1000}), machine({gpu("a", Bytes{GetParam().free})}));
    ASSERT_EQ(answer.gpus.size(), 1U);
    EXPECT_EQ(answer.gpus[0].fit, GetParam().fit);
}

INSTANTIATE_TEST_SUITE_P(Table,
                         Border,
                         ::testing::Values(BorderRow{"Less", 999, Fit::No},
                                           BorderRow{"Exactly", 1000, Fit::Tight},
                                           BorderRow{"NearlyATenthMore", 1099, Fit::Tight},
                                           BorderRow{"ATenthMore", 1100, Fit::Fits},
                                           BorderRow{"Nothing", 0, Fit::No}),
                         support::case_name);

// Budgets --------------------------------------------------------------------------------------

struct BudgetRow {
    const char* name;
    GpuMemory memory;
    HostMemory host;
    std::optional<std::uint64_t> available;
    std::optional<BudgetSource> source;
    std::optional<std::uint64_t> bytes;  ///< with a margin of 100
};
class BudgetOf : public ::testing::TestWithParam<BudgetRow> {};

TEST_P(BudgetOf, IsTheMemoryThatAProgramMayUse) {
    const auto budget = budget_of(GetParam().memory, GetParam().host, Bytes{100});
    const auto count = [](std::optional<Bytes> bytes) {
        return bytes ? std::optional{bytes->count} : std::nullopt;
    };
    EXPECT_EQ(count(budget.available), GetParam().available);
    EXPECT_EQ(budget.source, GetParam().source);
    EXPECT_EQ(count(budget.bytes), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BudgetOf,
    ::testing::Values(
        BudgetRow{"Free",
                  {.physical = Bytes{900}, .allocatable = Bytes{800}, .free = Bytes{700}},
                  {},
                  700,
                  BudgetSource::Free,
                  600},
        BudgetRow{"Allocatable",
                  {.physical = Bytes{900}, .allocatable = Bytes{800}},
                  {},
                  800,
                  BudgetSource::Allocatable,
                  700},
        BudgetRow{"Physical", {.physical = Bytes{900}}, {}, 900, BudgetSource::Physical, 800},
        BudgetRow{"NotTheCarveoutOfAnApu",
                  {.kind = MemoryKind::Carveout, .physical = Bytes{900}},
                  {},
                  std::nullopt,
                  std::nullopt,
                  std::nullopt},
        BudgetRow{
            "Nothing", {}, {.available = Bytes{5000}}, std::nullopt, std::nullopt, std::nullopt},
        BudgetRow{"FullGpu", {.free = Bytes{0}}, {}, 0, BudgetSource::Free, 0},
        BudgetRow{"UnderTheMargin", {.free = Bytes{99}}, {}, 99, BudgetSource::Free, 0},
        BudgetRow{"UnifiedBoundedByTheHost",
                  {.kind = MemoryKind::Unified, .free = Bytes{700}},
                  {.available = Bytes{400}},
                  400,
                  BudgetSource::Free,
                  300},
        BudgetRow{"UnifiedWithinTheHost",
                  {.kind = MemoryKind::Unified, .free = Bytes{700}},
                  {.available = Bytes{9000}},
                  700,
                  BudgetSource::Free,
                  600},
        BudgetRow{"UnifiedOnAnUnknownHost",
                  {.kind = MemoryKind::Unified, .allocatable = Bytes{700}},
                  {},
                  700,
                  BudgetSource::Allocatable,
                  600},
        BudgetRow{"CarveoutIsItsOwn",
                  {.kind = MemoryKind::Carveout, .free = Bytes{700}},
                  {.available = Bytes{400}},
                  700,
                  BudgetSource::Free,
                  600},
        BudgetRow{"DedicatedIsItsOwn",
                  {.kind = MemoryKind::Dedicated, .free = Bytes{700}},
                  {.available = Bytes{400}},
                  700,
                  BudgetSource::Free,
                  600}),
    support::case_name);

TEST(Plan, ReportsWhatIsUnknown) {
    auto silent = gpu("a", gib(8));
    silent.memory = {};
    auto no_free = gpu("b", gib(8));
    no_free.memory.free.reset();
    const auto answer = planned(bytes_needed(gib(4)), machine({silent, no_free}));
    EXPECT_EQ(answer.gpus[0].fit, Fit::Unknown);
    EXPECT_FALSE(answer.gpus[0].budget.bytes);
    EXPECT_EQ(answer.gpus[0].reasons[0].code, "memory-unknown");
    EXPECT_EQ(answer.gpus[1].fit, Fit::Fits);
    EXPECT_EQ(answer.gpus[1].reasons[0].code, "free-unknown");
    EXPECT_EQ(*answer.gpus[1].reasons[0].detail.at("used").as_string(), "allocatable");
}

TEST(Plan, IsPossibleOnlyWhereThatIsKnown) {
    auto silent = gpu("a", gib(8));
    silent.memory = {};
    EXPECT_FALSE(planned(bytes_needed(gib(4)), machine({silent})).is_possible());
    EXPECT_FALSE(planned(bytes_needed(gib(4)), machine({})).is_possible());
    EXPECT_FALSE(planned(bytes_needed(gib(9)), machine({gpu("a", gib(8))})).is_possible());
    EXPECT_TRUE(planned(bytes_needed(gib(8)), machine({gpu("a", gib(8))})).is_possible());
    EXPECT_TRUE(
        planned(bytes_needed(gib(9)), machine({gpu("a", gib(8)), gpu("b", gib(8))})).is_possible());
}

TEST(Plan, LeavesOutGpusThatCannotCompute) {
    auto display = gpu("display", gib(8));
    display.kind = GpuKind::DisplayOnly;
    auto broken = gpu("broken", gib(8));
    broken.backends["cuda"].usable = false;
    const auto answer = planned(bytes_needed(gib(1)), machine({display, broken}));
    ASSERT_EQ(answer.gpus.size(), 1U);
    EXPECT_EQ(answer.gpus[0].gpu, "broken");
    EXPECT_EQ(answer.gpus[0].fit, Fit::No);
    EXPECT_EQ(answer.gpus[0].reasons, std::vector{because("not-usable", {{"backend", "cuda"}})});
}

TEST(Plan, SaysWhyNoBackendWorks) {
    auto broken = gpu("broken", gib(8));
    broken.backends["cuda"] = {.usable = false, .reasons = {because("vendor-mismatch")}};
    const std::vector<Reason> reasons{because("driver-missing")};
    broken.backends["rocm"] = {.usable = false, .reasons = reasons};
    const auto answer = planned(bytes_needed(gib(1)), machine({broken}));
    ASSERT_EQ(answer.gpus.size(), 1U);
    EXPECT_EQ(
        answer.gpus[0].reasons,
        std::vector{because("not-usable", {{"backend", "rocm"}, {"reasons", to_value(reasons)}})});
}

TEST(Plan, NamesKnownFaultsThatConcernMemory) {
    auto superchip = gpu("a", gib(8));
    superchip.name = "NVIDIA GH200 480GB";
    const auto answer = planned(bytes_needed(gib(9)), machine({superchip, gpu("b", gib(8))}));
    ASSERT_TRUE(has_reason(answer.gpus[0].reasons, "known-bad"));
    EXPECT_EQ(answer.gpus[0].reasons.back().detail.at("cause"), Value{"memory-is-numa-node"});
    EXPECT_FALSE(has_reason(answer.gpus[1].reasons, "known-bad"));
}

TEST(Plan, NamesTheLargestBufferIfMoreIsNeeded) {
    auto limited = gpu("a", gib(16), "vulkan");
    limited.apis["vulkan"] = {.outcome = Outcome::Answered, .index = 0};
    limited.apis["vulkan"].device["max_buffer_size"] = to_value(gib(4));
    EXPECT_FALSE(has_reason(planned(bytes_needed(gib(4)), machine({limited})).gpus[0].reasons,
                            "buffer-limit"));
    const auto answer = planned(bytes_needed(gib(5)), machine({limited}));
    EXPECT_EQ(answer.gpus[0].fit, Fit::Fits);
    ASSERT_TRUE(has_reason(answer.gpus[0].reasons, "buffer-limit"));
    EXPECT_EQ(answer.gpus[0].reasons.back().detail.at("have"), to_value(gib(4)));
}

/// llama.cpp divides a model into several buffers, but each tensor must fit into one buffer.
TEST(Plan, ComparesTheLargestTensorOfAModelWithTheLargestBuffer) {
    auto limited = gpu("a", gib(64), "vulkan");
    limited.apis["vulkan"] = {.outcome = Outcome::Answered, .index = 0};
    const auto plan_with = [&](Bytes limit, std::uint64_t context) {
        limited.apis["vulkan"].device["max_buffer_size"] = to_value(limit);
        return planned(for_model("llama-3.1-8b", context), machine({limited})).gpus[0];
    };
    // The model needs more than 4 GiB in total, but no tensor does.
    const auto split = plan_with(gib(4), 4096);
    EXPECT_EQ(split.fit, Fit::Fits);
    EXPECT_GT(split.need, gib(4));
    EXPECT_FALSE(has_reason(split.reasons, "buffer-limit"));
    EXPECT_FALSE(has_reason(split.reasons, "buffer-too-large"));
    // The output matrix is larger than 256 MiB, so the output stays on the CPU.
    const auto small = plan_with(mib(256), 4096);
    EXPECT_EQ(small.fit, Fit::No);
    EXPECT_LT(small.layers->offloaded, small.layers->total);
    ASSERT_TRUE(has_reason(small.reasons, "buffer-too-large"));
    EXPECT_FALSE(has_reason(small.reasons, "too-little-memory"));
    EXPECT_GT(small.reasons.back().detail.at("need").as_int().value_or(0), 256 << 20);
    EXPECT_FALSE(small.max_context);
    // The keys of a layer take 2 KiB per token, so a longer context needs a larger buffer.
    EXPECT_EQ(plan_with(gib(1), 131072).fit, Fit::Fits);
    EXPECT_TRUE(has_reason(plan_with(gib(1), 1048576).reasons, "buffer-too-large"));
}

// Layers ---------------------------------------------------------------------------------------

/// With one byte less than these layers need, one layer fewer fits.
TEST(Plan, CountsTheLayersThatFit) {
    const auto request = for_model("llama-3.1-8b", 4096);
    const Load load{.model = &*request.model, .run = request.run};
    const Slot slot{.overhead = context_memory({}, "cuda")};
    const auto layers = [&](std::uint64_t budget) {
        const auto free = Bytes{budget + kDefaultMargin.count};
        return planned(request, machine({gpu("a", free)})).gpus[0].layers->offloaded;
    };
    for (const std::uint64_t count : {33, 32, 2, 1}) {
        const auto used = split_layers(load, {slot}, count).used[0].count;
        EXPECT_EQ(layers(used), count);
        EXPECT_EQ(layers(used - 1), count - 1);
    }
    EXPECT_EQ(layers(0), 0U);
}

TEST(Plan, FindsTheLongestContext) {
    auto request = for_model("llama-3.1-8b", 4096);
    const auto report = machine({gpu("a", gib(10))});
    const auto longest = planned(request, report).gpus[0].max_context;
    ASSERT_TRUE(longest);
    EXPECT_EQ(*longest % 256, 0U);
    request.run.context = *longest;
    EXPECT_EQ(planned(request, report).gpus[0].fit, Fit::Fits);
    request.run.context = *longest + 256;
    EXPECT_NE(planned(request, report).gpus[0].fit, Fit::Fits);
}

TEST(Plan, GoesNoFurtherThanTheModelWasTrained) {
    const auto answer = planned(for_model("qwen2.5-14b", 4096), machine({gpu("a", gib(900))}));
    EXPECT_EQ(answer.gpus[0].max_context, 32768U);
}

TEST(Plan, HasNoContextIfTheWeightsDoNotFit) {
    const auto answer = planned(for_model("qwen3-32b", 4096), machine({gpu("a", gib(16))}));
    EXPECT_EQ(answer.gpus[0].fit, Fit::No);
    EXPECT_FALSE(answer.gpus[0].max_context);
    EXPECT_GT(answer.gpus[0].layers->offloaded, 10U);
    EXPECT_LT(answer.gpus[0].layers->offloaded, 65U);
}

TEST(Plan, ShowsTheSamePartsOnEveryMachine) {
    const auto request = for_model("gemma-3-27b", 32768);
    const auto answer = planned(request, machine({gpu("a", gib(40))}));
    ASSERT_TRUE(answer.need);
    const auto& need = *answer.need;
    EXPECT_EQ(answer.gpus[0].need.count, need.layers.count + need.output.count + need.cache.count +
                                             need.compute.count + answer.gpus[0].overhead.count);
    EXPECT_EQ(answer.gpus[0].overhead, context_memory({}, "cuda"));
}

TEST(Plan, GoesThroughTheBackendsThatTheApplicationAccepts) {
    auto first = gpu("a", gib(40));
    first.backends["vulkan"].usable = true;
    auto second = gpu("b", gib(40));
    second.backends["vulkan"].usable = true;
    auto request = for_model("gemma-3-27b", 4096);
    const auto report = machine({first, second});
    EXPECT_EQ(planned(request, report).gpus[0].overhead, context_memory({}, "cuda"));
    request.backends = {{"a", {"vulkan"}}, {"b", {"vulkan"}}};
    const auto answer = planned(request, report);
    EXPECT_EQ(answer.gpus[0].overhead, context_memory({}, "vulkan"));
    ASSERT_EQ(answer.together.size(), 1U);
    EXPECT_EQ(answer.together.front().backend, "vulkan");
}

TEST(Plan, SplitsInTheOrderOfTheApi) {
    const std::vector<std::string> as_listed = {"b", "a"};
    const std::vector<std::string> as_reported = {"a", "b"};
    auto first = gpu("a", gib(40));
    auto second = gpu("b", gib(40));
    first.apis["cuda"].index = 1;
    second.apis["cuda"].index = 0;
    const auto order_of = [&](const PlanRequest& request) {
        return planned(request, machine({first, second})).together.at(0).gpus;
    };
    const auto request = for_model("gemma-3-27b", 4096);
    EXPECT_EQ(order_of(request), as_listed);
    EXPECT_EQ(order_of(bytes_needed(gib(50))), as_reported) << "nobody splits layers";
    second.apis["cuda"].driver = "another";
    EXPECT_EQ(order_of(request), as_reported) << "their indices are not of one list";
}

TEST(Plan, SplitsInTheOrderOfGgmlsOwnOnSycl) {
    std::vector<Gpu> gpus;
    const auto add = [&gpus](const char* name, std::uint8_t bus, std::uint64_t partitions) {
        auto one = gpu(name, gib(40));
        one.backends.erase("cuda");
        one.backends["sycl"].usable = true;
        one.pci = PciInfo{.address = PciAddress{.bus = bus}};
        one.apis["level_zero"].index = static_cast<std::uint32_t>(gpus.size());
        one.apis["level_zero"].device["execution_units"] = partitions;
        gpus.push_back(std::move(one));
    };
    // SYCL's default device is the first by address, regardless of its memory.
    add("c", 9, 96);
    add("b", 8, 512);
    add("a", 3, 128);
    const auto answer = planned(for_model("gemma-3-27b", 4096), machine(gpus));
    EXPECT_EQ(answer.together.at(0).gpus, (std::vector<std::string>{"a", "b", "c"}));
    gpus[0].apis["level_zero"].device["execution_units"] = 1024;
    EXPECT_EQ(planned(for_model("gemma-3-27b", 4096), machine(gpus)).together.at(0).gpus,
              (std::vector<std::string>{"a", "c", "b"}));
}

TEST(Plan, CountsTheContextAsItWasMeasuredHere) {
    auto measured = gpu("a", gib(40));
    const auto request = for_model("gemma-3-27b", 4096);
    measured.backends["cuda"].measurement = Measurement{};
    EXPECT_EQ(planned(request, machine({measured})).gpus[0].overhead, mib(530)) << "not told";
    measured.backends["cuda"].measurement->context = mib(300);
    const auto answer = planned(request, machine({measured, gpu("b", gib(40))}));
    EXPECT_EQ(answer.gpus[0].overhead, mib(307)) << "with what llama.cpp adds";
    EXPECT_EQ(answer.gpus[1].overhead, mib(530)) << "another GPU's is not taken for it";
    measured.backends["vulkan"].measurement = Measurement{.context = mib(20)};
    EXPECT_EQ(context_memory(measured, "vulkan"), mib(24));
    measured.backends["opencl"].measurement = Measurement{.context = mib(70)};
    EXPECT_EQ(context_memory(measured, "opencl"), mib(70)) << "nothing else is known of it";
}

struct OverheadRow {
    const char* name;
    const char* backend;
    std::uint64_t mebibytes;
};
class Overhead : public ::testing::TestWithParam<OverheadRow> {};

TEST_P(Overhead, IsOfTheBackend) {
    auto request = for_model("llama-3.1-8b", 4096);
    const auto report = machine({gpu("a", gib(40), GetParam().backend)});
    EXPECT_EQ(planned(request, report).gpus[0].overhead, mib(GetParam().mebibytes));
    request.context_overhead = mib(7);
    EXPECT_EQ(planned(request, report).gpus[0].overhead, mib(7));
}

INSTANTIATE_TEST_SUITE_P(Table,
                         Overhead,
                         ::testing::Values(OverheadRow{"Cuda", "cuda", 530},
                                           OverheadRow{"Rocm", "rocm", 530},
                                           OverheadRow{"Vulkan", "vulkan", 50},
                                           OverheadRow{"OpenCl", "opencl", 0}),
                         support::case_name);

struct AttentionRow {
    const char* name;
    FlashAttention wish;
    const char* backend;
    std::uint64_t length;
    const char* keys;
    const char* values;
    bool is_used;
};
class Attention : public ::testing::TestWithParam<AttentionRow> {};

TEST_P(Attention, IsFlashWhereTheBackendHasIt) {
    auto model = model_named("llama-3.1-8b");
    for (auto& layer : model.layers)
        layer.key_length = layer.value_length = GetParam().length;
    const RunShape run{.keys = *cache_type(GetParam().keys),
                       .values = *cache_type(GetParam().values)};
    EXPECT_EQ(uses_flash_attention(GetParam().wish, model, run, GetParam().backend),
              GetParam().is_used);
    model.architecture = "grok";
    EXPECT_FALSE(uses_flash_attention(GetParam().wish, model, run, GetParam().backend));
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Attention,
    ::testing::Values(
        AttentionRow{"Off", FlashAttention::Off, "cpu", 128, "f16", "f16", false},
        AttentionRow{"On", FlashAttention::On, "cuda", 100, "f16", "f16", true},
        AttentionRow{"Cpu", FlashAttention::Auto, "cpu", 100, "q4_1", "f16", true},
        AttentionRow{"Vulkan", FlashAttention::Auto, "vulkan", 100, "f16", "f16", true},
        AttentionRow{"Cuda", FlashAttention::Auto, "cuda", 128, "f16", "f16", true},
        AttentionRow{"CudaOddHeads", FlashAttention::Auto, "cuda", 100, "f16", "f16", false},
        AttentionRow{"CudaQ8", FlashAttention::Auto, "cuda", 128, "q8_0", "q8_0", true},
        AttentionRow{"CudaQ8Q4", FlashAttention::Auto, "cuda", 128, "q8_0", "q4_0", true},
        AttentionRow{"CudaMixed", FlashAttention::Auto, "cuda", 128, "q8_0", "f16", false},
        AttentionRow{"HipQ51Keys", FlashAttention::Auto, "rocm", 128, "q5_1", "f16", false},
        AttentionRow{"QuantizedValuesNeedIt", FlashAttention::Auto, "rocm", 128, "q5_1", "q5_1",
                     true}),
    support::case_name);

// Several GPUs ---------------------------------------------------------------------------------

TEST(Plan, SplitsOverGpusOfOneBackend) {
    const auto request = for_model("qwen3-32b", 8192);
    const auto answer = planned(request, machine({gpu("small", gib(12)), gpu("large", gib(16))}));
    EXPECT_EQ(answer.gpus[0].fit, Fit::No);
    EXPECT_EQ(answer.gpus[1].fit, Fit::No);
    ASSERT_EQ(answer.together.size(), 1U);
    const auto& set = answer.together[0];
    EXPECT_EQ(set.backend, "cuda");
    EXPECT_EQ(set.gpus, (Ids{"small", "large"}));
    EXPECT_EQ(set.fit, Fit::Fits);
    EXPECT_EQ(set.layers->offloaded, 65U);
    EXPECT_EQ(set.shares[0].layers + set.shares[1].layers, 65U);
    EXPECT_LE(set.shares[0].need, Bytes{gib(12).count - kDefaultMargin.count});
    EXPECT_LE(set.shares[1].need, Bytes{gib(16).count - kDefaultMargin.count});
}

/// If the split followed the free memory, one of 33 pieces would be on the small GPU, on which not
/// even the compute buffers fit.
TEST(Plan, LeavesOutASmallGpuThatHoldsNothing) {
    const auto request = for_model("llama-3.1-8b", 4096);
    const auto answer = planned(request, machine({gpu("large", gib(48)), gpu("small", gib(2))}));
    ASSERT_EQ(answer.together.size(), 1U);
    EXPECT_EQ(answer.together[0].fit, Fit::Fits);
    EXPECT_EQ(answer.together[0].shares[0].layers, 33U);
    EXPECT_EQ(answer.together[0].shares[1].layers, 0U);
}

/// If all GPUs together have a tenth to spare, each GPU has a tenth to spare.
TEST(Plan, SharesFitIntoTheBudgets) {
    const auto need = mib(7680);
    const auto answer = planned(bytes_needed(need), machine({gpu("a", gib(8)), gpu("b", gib(8))}));
    EXPECT_EQ(answer.gpus[0].fit, Fit::Tight);
    const auto& set = answer.together.at(0);
    EXPECT_EQ(set.fit, Fit::Fits);
    EXPECT_EQ(set.shares[0].need, Bytes{gib(8).count * 10 / 11});
    EXPECT_EQ(set.shares[0].need.count + set.shares[1].need.count, need.count);
}

/// An application uses CUDA on the first GPU and Vulkan on the second, although Vulkan works on
/// both.
TEST(Plan, ForAnApplicationDoesNotJoinGpusThatItUsesThroughOtherBackends) {
    auto report = machine({gpu("a", gib(8), "cuda"), gpu("b", gib(8), "rocm")});
    for (auto& member : report.gpus)
        member.backends["vulkan"] = {.usable = true};
    auto request = bytes_needed(gib(12));
    request.backends = {{"a", {"cuda", "vulkan"}}, {"b", {"vulkan"}}};
    EXPECT_TRUE(planned(request, report).together.empty());
    request.backends["a"] = {"vulkan"};
    EXPECT_EQ(planned(request, report).together.size(), 1U);
}

TEST(Plan, SplitsOnlyBetweenGpusOfOneBackend) {
    const auto mixed = machine({gpu("a", gib(8), "cuda"), gpu("b", gib(8), "rocm")});
    EXPECT_TRUE(planned(bytes_needed(gib(12)), mixed).together.empty());
    auto both = mixed;
    for (auto& member : both.gpus)
        member.backends["vulkan"] = {.usable = true};
    const auto sets = planned(bytes_needed(gib(12)), both).together;
    ASSERT_EQ(sets.size(), 1U);
    EXPECT_EQ(sets[0].backend, "vulkan");
}

TEST(Plan, NamesASetOnceThoughTwoBackendsDriveIt) {
    auto report = machine({gpu("a", gib(8)), gpu("b", gib(8))});
    for (auto& member : report.gpus)
        member.backends["vulkan"] = {.usable = true};
    const auto sets = planned(bytes_needed(gib(12)), report).together;
    ASSERT_EQ(sets.size(), 1U);
    EXPECT_EQ(sets[0].backend, "cuda");
}

TEST(Plan, TakesAnIntegratedGpuIntoASetWhenNamed) {
    auto integrated = gpu("i", gib(8), "vulkan");
    integrated.kind = GpuKind::Integrated;
    auto request = bytes_needed(gib(12));
    const auto report = machine({gpu("d", gib(8), "vulkan"), integrated});
    EXPECT_TRUE(planned(request, report).together.empty());
    request.gpus = {"d", "i"};
    ASSERT_EQ(planned(request, report).together.size(), 1U);
    request.gpus = {"i"};
    EXPECT_EQ(planned(request, report).gpus.size(), 1U);
}

TEST(Plan, OfASetWithAnUnknownGpuIsUnknownUnlessTheOthersDo) {
    auto silent = gpu("b", gib(8));
    silent.memory = {};
    const auto report = machine({gpu("a", gib(8)), silent});
    EXPECT_EQ(planned(bytes_needed(gib(12)), report).together[0].fit, Fit::Unknown);
    EXPECT_EQ(planned(bytes_needed(gib(4)), report).together[0].fit, Fit::Fits);
}

TEST(Plan, OfTheHostCountsTheEmbeddingToo) {
    const auto request = for_model("llama-3.1-8b", 4096);
    auto report = machine({});
    const auto answer = planned(request, report);
    EXPECT_EQ(answer.host.fit, Fit::Fits);
    EXPECT_EQ(answer.host.need.count, answer.need->layers.count + answer.need->output.count +
                                          answer.need->cache.count + answer.need->compute.count +
                                          answer.need->embedding.count);
    report.host.memory.available = answer.host.need;
    EXPECT_EQ(planned(request, report).host.fit, Fit::Tight);
    report.host.memory.available = gib(1);
    EXPECT_EQ(planned(request, report).host.fit, Fit::No);
    report.host.memory = {};
    EXPECT_EQ(planned(request, report).host.fit, Fit::Unknown);
}

// Partitions
// ----------------------------------------------------------------------------------------

/// One GPU in two partitions.
Report divided(const std::string& kind, Bytes memory, const std::string& backend) {
    auto whole = gpu("a", gib(48), backend);
    for (const auto* number : {"1", "2"})
        whole.partitions.push_back({.name = kind + number,
                                    .id = "a/" + kind + number,
                                    .memory = FactMemory{.total = memory}});
    return machine({whole, gpu("b", gib(10), backend)});
}

TEST(PartitionPlan, HoldsTheNeedAgainstEachPartition) {
    const auto answer = planned(bytes_needed(gib(30)), divided("mig-", gib(24), "cuda"));
    ASSERT_EQ(answer.gpus.size(), 3U);
    EXPECT_EQ(answer.gpus[0].gpu, "a/mig-1");
    EXPECT_EQ(answer.gpus[0].fit, Fit::No);
    EXPECT_TRUE(answer.together.empty()) << "a process sees one instance";
    auto request = bytes_needed(gib(1));
    request.gpus = {"a/mig-2"};
    EXPECT_EQ(planned(request, divided("mig-", gib(24), "cuda")).gpus.size(), 1U);
    request.gpus = {"a"};
    EXPECT_EQ(planned(request, divided("mig-", gib(24), "cuda")).gpus.size(), 2U);
}

TEST(PartitionPlan, CountsMemoryThatUnitsShareOnce) {
    auto request = bytes_needed(gib(100));
    request.gpus = {"a"};
    const auto report = divided("xcp-", gib(96), "rocm");  // each partition may use all memory
    const auto answer = planned(request, report);
    ASSERT_EQ(answer.together.size(), 1U);
    EXPECT_EQ(answer.together[0].gpus, (Ids{"a/xcp-1", "a/xcp-2"}));
    EXPECT_EQ(answer.together[0].fit, Fit::No);
    request.need = gib(80);
    EXPECT_EQ(planned(request, report).together[0].fit, Fit::Fits);
}

}  // namespace plan_test
}  // namespace gpuprobe
