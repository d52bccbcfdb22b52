// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gtest/gtest.h>

#include "models.h"
#include "plan/placement.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace {

using testing::model_named;
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

// Borders --------------------------------------------------------------------------------------

struct BorderRow {
    const char* name;
    std::uint64_t free;
    Fit fit;
};
class Border : public ::testing::TestWithParam<BorderRow> {};

TEST_P(Border, IsWhereATenthIsSpare) {
    const auto answer =
        plan(bytes_needed(Bytes{1000}), machine({gpu("a", Bytes{GetParam().free})}));
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
                         testing::case_name);

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

TEST_P(BudgetOf, IsWhatAProgramMayTake) {
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
    testing::case_name);

TEST(Plan, SaysWhatItDoesNotKnow) {
    auto silent = gpu("a", gib(8));
    silent.memory = {};
    auto no_free = gpu("b", gib(8));
    no_free.memory.free.reset();
    const auto answer = plan(bytes_needed(gib(4)), machine({silent, no_free}));
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
    EXPECT_FALSE(plan(bytes_needed(gib(4)), machine({silent})).is_possible());
    EXPECT_FALSE(plan(bytes_needed(gib(4)), machine({})).is_possible());
    EXPECT_FALSE(plan(bytes_needed(gib(9)), machine({gpu("a", gib(8))})).is_possible());
    EXPECT_TRUE(plan(bytes_needed(gib(8)), machine({gpu("a", gib(8))})).is_possible());
    EXPECT_TRUE(
        plan(bytes_needed(gib(9)), machine({gpu("a", gib(8)), gpu("b", gib(8))})).is_possible());
}

TEST(Plan, LeavesOutWhatDoesNotCompute) {
    auto display = gpu("display", gib(8));
    display.kind = GpuKind::DisplayOnly;
    auto broken = gpu("broken", gib(8));
    broken.backends["cuda"].usable = false;
    const auto answer = plan(bytes_needed(gib(1)), machine({display, broken}));
    ASSERT_EQ(answer.gpus.size(), 1U);
    EXPECT_EQ(answer.gpus[0].gpu, "broken");
    EXPECT_EQ(answer.gpus[0].fit, Fit::No);
    EXPECT_EQ(answer.gpus[0].reasons[0].code, "not-usable");
}

// Layers ---------------------------------------------------------------------------------------

/// What one layer of the 8B takes at that context, and everything that is not a layer.
TEST(Plan, CountsTheLayersThatFit) {
    const auto request = for_model("llama-3.1-8b", 4096);
    const auto layer = request.model->layers[0].weights.count + (16ULL << 20U) * 1;
    ASSERT_EQ(cache_of(request.model->layers[0], 0, request.run), mib(16));
    const auto fixed = compute_of(*request.model, request.run).count + kContextOverhead.count +
                       kDefaultMargin.count + request.model->output.count;
    const auto layers = [&](std::uint64_t free) {
        return plan(request, machine({gpu("a", Bytes{free})})).gpus[0].layers->offloaded;
    };
    EXPECT_EQ(layers(fixed + 32 * layer), 33U);
    EXPECT_EQ(layers(fixed + 32 * layer - 1), 32U);
    EXPECT_EQ(layers(fixed + layer), 2U);
    EXPECT_EQ(layers(fixed), 1U);
    EXPECT_EQ(layers(fixed - 1), 0U);
    EXPECT_EQ(layers(0), 0U);
}

TEST(Plan, FindsTheLongestContext) {
    auto request = for_model("llama-3.1-8b", 4096);
    const auto report = machine({gpu("a", gib(10))});
    const auto longest = plan(request, report).gpus[0].max_context;
    ASSERT_TRUE(longest);
    EXPECT_EQ(*longest % 256, 0U);
    request.run.context = *longest;
    EXPECT_EQ(plan(request, report).gpus[0].fit, Fit::Fits);
    request.run.context = *longest + 256;
    EXPECT_NE(plan(request, report).gpus[0].fit, Fit::Fits);
}

TEST(Plan, GoesNoFurtherThanTheModelWasTrained) {
    const auto answer = plan(for_model("qwen2.5-14b", 4096), machine({gpu("a", gib(900))}));
    EXPECT_EQ(answer.gpus[0].max_context, 32768U);
}

TEST(Plan, HasNoContextWhereTheWeightsAloneAreTooMuch) {
    const auto answer = plan(for_model("qwen3-32b", 4096), machine({gpu("a", gib(16))}));
    EXPECT_EQ(answer.gpus[0].fit, Fit::No);
    EXPECT_FALSE(answer.gpus[0].max_context);
    EXPECT_GT(answer.gpus[0].layers->offloaded, 10U);
    EXPECT_LT(answer.gpus[0].layers->offloaded, 65U);
}

TEST(Plan, ShowsTheSamePartsOnEveryMachine) {
    const auto request = for_model("gemma-3-27b", 32768);
    const auto answer = plan(request, machine({gpu("a", gib(40))}));
    ASSERT_TRUE(answer.need);
    const auto& need = *answer.need;
    EXPECT_EQ(answer.gpus[0].need.count, need.layers.count + need.output.count + need.cache.count +
                                             need.compute.count + answer.gpus[0].overhead.count);
    EXPECT_EQ(answer.gpus[0].overhead, kContextOverhead);
}

TEST(Plan, CountsNoDriverContextForVulkanAlone) {
    const auto answer =
        plan(for_model("llama-3.1-8b", 4096), machine({gpu("a", gib(40), "vulkan")}));
    EXPECT_EQ(answer.gpus[0].overhead, Bytes{});
}

// Several --------------------------------------------------------------------------------------

TEST(Plan, SplitsOverGpusOfOneBackend) {
    const auto request = for_model("qwen3-32b", 8192);
    const auto answer = plan(request, machine({gpu("small", gib(12)), gpu("large", gib(16))}));
    EXPECT_EQ(answer.gpus[0].fit, Fit::No);
    EXPECT_EQ(answer.gpus[1].fit, Fit::No);
    ASSERT_EQ(answer.together.size(), 1U);
    const auto& set = answer.together[0];
    EXPECT_EQ(set.backend, "cuda");
    EXPECT_EQ(set.gpus, (Ids{"large", "small"}));
    EXPECT_EQ(set.fit, Fit::Fits);
    EXPECT_EQ(set.layers->offloaded, 65U);
    EXPECT_EQ(set.shares[0].layers + set.shares[1].layers, 65U);
    EXPECT_LE(set.shares[0].need, Bytes{gib(16).count - kDefaultMargin.count});
    EXPECT_LE(set.shares[1].need, Bytes{gib(12).count - kDefaultMargin.count});
}

TEST(Plan, SplitsOnlyWhatOneBackendDrives) {
    const auto mixed = machine({gpu("a", gib(8), "cuda"), gpu("b", gib(8), "rocm")});
    EXPECT_TRUE(plan(bytes_needed(gib(12)), mixed).together.empty());
    auto both = mixed;
    for (auto& member : both.gpus)
        member.backends["vulkan"] = {.usable = true};
    const auto sets = plan(bytes_needed(gib(12)), both).together;
    ASSERT_EQ(sets.size(), 1U);
    EXPECT_EQ(sets[0].backend, "vulkan");
}

TEST(Plan, NamesASetOnceThoughTwoBackendsDriveIt) {
    auto report = machine({gpu("a", gib(8)), gpu("b", gib(8))});
    for (auto& member : report.gpus)
        member.backends["vulkan"] = {.usable = true};
    const auto sets = plan(bytes_needed(gib(12)), report).together;
    ASSERT_EQ(sets.size(), 1U);
    EXPECT_EQ(sets[0].backend, "cuda");
}

TEST(Plan, TakesAnIntegratedGpuIntoASetWhenNamed) {
    auto integrated = gpu("i", gib(8), "vulkan");
    integrated.kind = GpuKind::Integrated;
    auto request = bytes_needed(gib(12));
    const auto report = machine({gpu("d", gib(8), "vulkan"), integrated});
    EXPECT_TRUE(plan(request, report).together.empty());
    request.gpus = {"d", "i"};
    ASSERT_EQ(plan(request, report).together.size(), 1U);
    request.gpus = {"i"};
    EXPECT_EQ(plan(request, report).gpus.size(), 1U);
}

TEST(Plan, OfASetWithAnUnknownGpuIsUnknownUnlessTheOthersDo) {
    auto silent = gpu("b", gib(8));
    silent.memory = {};
    const auto report = machine({gpu("a", gib(8)), silent});
    EXPECT_EQ(plan(bytes_needed(gib(12)), report).together[0].fit, Fit::Unknown);
    EXPECT_EQ(plan(bytes_needed(gib(4)), report).together[0].fit, Fit::Fits);
}

TEST(Plan, OfTheHostCountsTheEmbeddingToo) {
    const auto request = for_model("llama-3.1-8b", 4096);
    auto report = machine({});
    const auto answer = plan(request, report);
    EXPECT_EQ(answer.host.fit, Fit::Fits);
    EXPECT_EQ(answer.host.need.count, answer.need->layers.count + answer.need->output.count +
                                          answer.need->cache.count + answer.need->compute.count +
                                          answer.need->embedding.count);
    report.host.memory.available = answer.host.need;
    EXPECT_EQ(plan(request, report).host.fit, Fit::Tight);
    report.host.memory.available = gib(1);
    EXPECT_EQ(plan(request, report).host.fit, Fit::No);
    report.host.memory = {};
    EXPECT_EQ(plan(request, report).host.fit, Fit::Unknown);
}

TEST(Placement, KeepsPiecesInOrder) {
    const Load load{.pieces = {Bytes{4}, Bytes{3}, Bytes{1}, Bytes{1}}, .fixed = Bytes{1}};
    const auto placed = place(load, {{.budget = Bytes{6}}, {.budget = Bytes{6}}}, false);
    // 1 could still go to the first, but then the layers on it would not be consecutive.
    EXPECT_EQ(placed.pieces, (std::vector<std::uint64_t>{1, 3}));
    EXPECT_EQ(placed.used, (std::vector<Bytes>{Bytes{5}, Bytes{6}}));
    EXPECT_TRUE(placed.is_complete);
}

// Units ----------------------------------------------------------------------------------------

/// One GPU in two units.
Report divided(const std::string& kind, Bytes memory, const std::string& backend) {
    auto whole = gpu("a", gib(48), backend);
    for (const auto* number : {"1", "2"})
        whole.partitions.push_back({.name = kind + number,
                                    .id = "a/" + kind + number,
                                    .memory = FactMemory{.total = memory}});
    return machine({whole, gpu("b", gib(10), backend)});
}

TEST(UnitPlan, HoldsTheNeedAgainstEachUnit) {
    const auto answer = plan(bytes_needed(gib(30)), divided("mig-", gib(24), "cuda"));
    ASSERT_EQ(answer.gpus.size(), 3U);
    EXPECT_EQ(answer.gpus[0].gpu, "a/mig-1");
    EXPECT_EQ(answer.gpus[0].fit, Fit::No);
    EXPECT_TRUE(answer.together.empty()) << "a process sees one instance";
    auto request = bytes_needed(gib(1));
    request.gpus = {"a/mig-2"};
    EXPECT_EQ(plan(request, divided("mig-", gib(24), "cuda")).gpus.size(), 1U);
    request.gpus = {"a"};
    EXPECT_EQ(plan(request, divided("mig-", gib(24), "cuda")).gpus.size(), 2U);
}

TEST(UnitPlan, CountsMemoryThatUnitsShareOnce) {
    auto request = bytes_needed(gib(100));
    request.gpus = {"a"};
    const auto report = divided("xcp-", gib(96), "rocm");  // each may use all of the board
    const auto answer = plan(request, report);
    ASSERT_EQ(answer.together.size(), 1U);
    EXPECT_EQ(answer.together[0].gpus, (Ids{"a/xcp-1", "a/xcp-2"}));
    EXPECT_EQ(answer.together[0].fit, Fit::No);
    request.need = gib(80);
    EXPECT_EQ(plan(request, report).together[0].fit, Fit::Fits);
}

}  // namespace
}  // namespace gpuprobe
