// SPDX-License-Identifier: Apache-2.0
#include "policy/fact.h"

#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace fact_test {

using support::amd_card;
using support::hybrid_laptop;
using support::kFirstUuid;
using support::kSecondUuid;
using support::nvidia_card;
using support::report_of;
using support::two_identical_cards;
using Words = std::vector<std::string>;

TEST(MachineFacts, CanAllBeRead) {
    for (const auto& row : fact_rows())
        EXPECT_TRUE(row.read) << row.key;
}

TEST(WordSet, KnowsOnlyItsWordsUnlessItIsComplete) {
    WordSet words{{"b", "a"}};
    EXPECT_EQ(words.yes, (Words{"a", "b"}));
    EXPECT_EQ(words.holds("a"), Truth::True);
    EXPECT_EQ(words.holds("b"), Truth::True);
    EXPECT_EQ(words.holds("c"), Truth::False);
    words.is_complete = false;
    EXPECT_EQ(words.holds("c"), Truth::Unknown);
    words.no = {"c"};
    EXPECT_EQ(words.holds("c"), Truth::False);
    EXPECT_EQ(words.holds("a"), Truth::True);
    EXPECT_EQ(WordSet{}.holds("a"), Truth::False);
}

TEST(Words, OfAFactAreItsValuesAsTheReportSpellsThem) {
    EXPECT_EQ(words_of(Fact<std::string>::known("nvidia")), Words{"nvidia"});
    EXPECT_EQ(words_of(Fact<Version>::known(Version{{550, 54}})), Words{"550.54"});
    Fact<Version> spelled = Fact<Version>::known(Version{{550, 54}});
    spelled.text = "550.54.00-RC1";
    EXPECT_EQ(words_of(spelled), Words{"550.54.00-rc1"});
    EXPECT_EQ(words_of(Fact<Bytes>::known(mib(1))), Words{"1048576"});
    EXPECT_EQ(words_of(Fact<bool>::known(true)), Words{"true"});
    EXPECT_EQ(words_of(Fact<bool>::known(false)), Words{"false"});
    EXPECT_EQ(words_of(Fact<WordSet>::known(WordSet{{"b", "a"}})), (Words{"a", "b"}));
}

/// Releases of Jetson Linux and driver versions are different kinds of numbers, so "35 < 525" is
/// meaningless.
TEST(Driver, OfAJetsonBeforeJetPack6HasNoNumber) {
    auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    auto& gpu = report.gpus.front();
    const auto driver = [&report, &gpu] {
        return Facts{{.report = report, .gpu = &gpu}}.version(FactId::Driver);
    };
    gpu.kind = GpuKind::Integrated;
    gpu.driver = {.name = "gk20a", .version = "35"};
    EXPECT_FALSE(driver().value);
    EXPECT_TRUE(is_probed(driver()));
    gpu.driver.version = "540.4.0";
    EXPECT_EQ(driver().value, (Version{{540, 4, 0}}));
    gpu.kind = GpuKind::Discrete;
    gpu.driver = {.name = "nvidia", .version = "96.43.20"};
    EXPECT_TRUE(driver().value);
}

TEST(Words, OfAnUnknownFactAndAnAbsentOneAreNone) {
    EXPECT_EQ(words_of(Fact<Bytes>::unknown()), Words{});
    EXPECT_EQ(words_of(Fact<Version>::absent()), Words{});
    EXPECT_EQ(words_of(Fact<bool>::unknown()), Words{});
    EXPECT_FALSE(is_probed(Fact<Bytes>::unknown()));
    EXPECT_TRUE(is_probed(Fact<Bytes>::absent()));
    EXPECT_TRUE(is_probed(Fact<Bytes>::known(mib(1))));
}

TEST(FactRows, AreFoundByNameUnlessNoTermMayNameThem) {
    for (const auto& row : fact_rows()) {
        EXPECT_EQ(&row_of(row.id), &row) << row.key;
        EXPECT_EQ(find_fact(row.key) == &row, row.is_nameable) << row.key;
    }
    EXPECT_EQ(find_fact("nothing"), nullptr);
    EXPECT_EQ(find_fact(""), nullptr);
}

TEST(UsableApi, IsTheVerdictOfItsBackendOnTheGpu) {
    auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    report.gpus[0].backends["cuda"].verified = true;
    report.gpus[0].backends.erase("sycl");
    report.gpus[0].backends["vulkan"] = support::unclear("asleep");
    const Facts on_gpu{{.report = report, .gpu = &report.gpus[0]}};
    EXPECT_EQ(on_gpu.usable(Api::Cuda), true);
    EXPECT_EQ(on_gpu.usable(Api::Hip), false);
    EXPECT_EQ(on_gpu.usable(Api::Vulkan), std::nullopt);
    EXPECT_EQ(on_gpu.usable(Api::LevelZero), std::nullopt);
    EXPECT_TRUE(on_gpu.verified(Api::Cuda));
    EXPECT_FALSE(on_gpu.verified(Api::OpenCl));
    const Facts on_host{{.report = report}};
    EXPECT_EQ(on_host.usable(Api::Cuda), std::nullopt);
    EXPECT_FALSE(on_host.verified(Api::Cuda));
}

/// Each row changes one of two identical GPUs.
struct DifferenceRow {
    const char* name;
    void (*change)(Gpu& gpu);
    bool is_like;
};
class Likeness : public ::testing::TestWithParam<DifferenceRow> {};

TEST_P(Likeness, NeedsEveryFactAndUsabilityToMatch) {
    auto report = two_identical_cards();
    GetParam().change(report.gpus[1]);
    const Facts left{{.report = report, .gpu = &report.gpus[0]}};
    const Facts right{{.report = report, .gpu = &report.gpus[1]}};
    EXPECT_EQ(is_like(left, right), GetParam().is_like);
    EXPECT_EQ(is_like(right, left), GetParam().is_like);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Likeness,
    ::testing::Values(
        DifferenceRow{"OnlyAddressAndUuid", [](Gpu&) {}, true},
        DifferenceRow{"Name", [](Gpu& gpu) { gpu.name = *gpu.name + " NVL"; }, true},
        DifferenceRow{"ProductLine", [](Gpu& gpu) { gpu.name = "NVIDIA TITAN V"; }, false},
        DifferenceRow{"Driver", [](Gpu& gpu) { gpu.driver.version = "535.1"; }, false},
        DifferenceRow{"Memory", [](Gpu& gpu) { gpu.memory.allocatable = gib(1); }, false},
        DifferenceRow{"Capability",
                      [](Gpu& gpu) { gpu.architecture.cuda_compute_capability = "8.0"; }, false},
        DifferenceRow{"Kind", [](Gpu& gpu) { gpu.kind = GpuKind::Virtual; }, false},
        DifferenceRow{"Usability", [](Gpu& gpu) { gpu.backends["cuda"].usable = false; }, false},
        DifferenceRow{"UnknownUsability", [](Gpu& gpu) { gpu.backends["cuda"].usable = {}; },
                      false}),
    support::case_name);

TEST(MachineFactsOf, LeaveOutDisplaysAndCountTheGpusOverTheLimit) {
    auto report = report_of({support::management_display()});
    const auto facts = [&report] { return machine_facts(report, Rules::current()); };
    EXPECT_EQ(facts().gpus.size(), 0U);
    for (std::size_t i = 0; i < kMaxVariantGpus; ++i)
        report.gpus.push_back(nvidia_card("0000:06:00.0", kFirstUuid, 0));
    EXPECT_EQ(facts().gpus.size(), kMaxVariantGpus);
    EXPECT_EQ(facts().left_out, 0U);
    EXPECT_EQ(facts().gpus.front().gpu(), &report.gpus[1]);
    report.gpus.push_back(support::management_display());
    EXPECT_EQ(facts().left_out, 0U) << "a display does not count";
    report.gpus.push_back(amd_card("0000:03:00.0", "", 0));
    EXPECT_EQ(facts().gpus.size(), kMaxVariantGpus);
    EXPECT_EQ(facts().left_out, 1U);
    EXPECT_EQ(facts().host.gpu(), nullptr);
}

TEST(MemoryForUse, IsTheAllocatableMemoryOrElseTheBoardsSize) {
    EXPECT_EQ(memory_for_use(GpuMemory{.physical = gib(24), .allocatable = gib(20)}).value,
              gib(20));
    EXPECT_EQ(memory_for_use(GpuMemory{.physical = gib(24)}).value, gib(24));
    EXPECT_FALSE(memory_for_use(GpuMemory{}).is_probed);
}

TEST(PlatformOf, IsSpelledAsContainerImagesAre) {
    Host host{.os = "linux", .arch = "x86_64"};
    EXPECT_EQ(platform_of(host), "linux-amd64");
    host.arch = "aarch64";
    EXPECT_EQ(platform_of(host), "linux-arm64");
    host.arch.reset();
    EXPECT_EQ(platform_of(host), std::nullopt);
    EXPECT_EQ(platform_of(Host{.arch = "x86_64"}), std::nullopt);
}

}  // namespace fact_test
}  // namespace gpuprobe
