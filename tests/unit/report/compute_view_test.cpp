// SPDX-License-Identifier: Apache-2.0
#include "report/compute_view.h"

#include <gtest/gtest.h>

#include "report/video.h"
#include "unit/report/instances.h"

namespace gpuprobe::test {
namespace compute_view_test {

TEST(ComputeView, GivesEachInstanceInTheFormOfAGpu) {
    const auto report = with_cuda_on(kInstance);
    const ComputeView view{report};
    ASSERT_EQ(view.report().gpus.size(), 2U);
    const auto& first = view.report().gpus[0];
    EXPECT_EQ(first.id, "pci:0000:00:06.0/mig-1");
    EXPECT_EQ(first.name, "NVIDIA H200 MIG 3g.71gb");
    EXPECT_EQ(first.identity.nvidia_uuid, kInstance);
    EXPECT_EQ(first.memory.allocatable, mib(71424));
    EXPECT_EQ(first.backends.at("cuda").usable, true);
    EXPECT_TRUE(first.backends.at("cuda").reasons.empty());
    const auto& second = view.report().gpus[1];
    EXPECT_EQ(second.backends.at("cuda").usable, true);
    EXPECT_TRUE(has_reason(second.backends.at("cuda").reasons, "one-instance-listed"));
    EXPECT_EQ(second.apis.at("cuda").index, std::nullopt);
    EXPECT_TRUE(stands_alone(second));
    EXPECT_TRUE(goes_by(second, kCard));
    EXPECT_FALSE(goes_by(second, first.id));
    EXPECT_EQ(&ComputeView{view.report()}.report(), &view.report());
}

/// The report with these numbers of video engines for two instances. NVDEC has answered for the
/// first instance.
Report with_engines(const char* first, const char* second) {
    auto report = with_cuda_on(kInstance);
    auto& gpu = report.gpus.front();
    gpu.lacks_video.clear();
    auto& instances = gpu.apis.at("nvml").device["mig_devices"];
    auto list = *instances.as_array();
    for (auto* member : {"decoders", "encoders"}) {
        list[0][member] = json(first).at(member);
        list[1][member] = json(second).at(member);
    }
    instances = Value{std::move(list)};
    gpu.apis["nvcodec"] = {.outcome = Outcome::Answered, .joined_by = "pci"};
    gpu.apis["nvcodec"].device["video"].push_back(
        to_value(VideoEntry{.direction = VideoDirection::Decode, .codec = "av1", .name = "x"}));
    return report;
}

TEST(ComputeView, KnowsInstancesWithoutVideoEngines) {
    const auto report =
        with_engines(R"({"decoders":1,"encoders":0})", R"({"decoders":0,"encoders":0})");
    const ComputeView view{report};
    const auto& gpus = view.report().gpus;
    ASSERT_EQ(gpus.size(), 2U);
    using Directions = std::vector<VideoDirection>;
    EXPECT_EQ(gpus[0].lacks_video, Directions{VideoDirection::Encode});
    EXPECT_FALSE(is_without_video(gpus[0], VideoDirection::Decode));
    EXPECT_TRUE(is_without_video(gpus[0], VideoDirection::Encode));
    EXPECT_EQ(gpus[1].lacks_video, (Directions{VideoDirection::Decode, VideoDirection::Encode}));
    EXPECT_TRUE(is_without_video(gpus[1], VideoDirection::Decode))
        << "the formats are those of the other instance";
    EXPECT_TRUE(report.gpus.front().lacks_video.empty());
}

TEST(ComputeView, LeavesEnginesUnknownThatNvmlDoesNotCount) {
    const auto report = with_engines("{}", "{}");
    const ComputeView view{report};
    for (const auto& gpu : view.report().gpus) {
        EXPECT_TRUE(gpu.lacks_video.empty());
        EXPECT_FALSE(is_without_video(gpu, VideoDirection::Decode));
    }
}

TEST(ComputeView, KnowsGpusByAnySpellingOfTheirIds) {
    auto report = assembled(scene_with(kTwo));
    report.gpus.push_back({.id = "nvml:GPU-1234"});
    const ComputeView view{report};
    const auto partition = view.report().gpus.front().id;
    ASSERT_TRUE(partition_of(view.report().gpus.front()));
    EXPECT_EQ(known_id(view.report(), "NVML:gpu-1234").value(), "nvml:GPU-1234");
    EXPECT_EQ(known_id(view.report(), "00000000:00:06.0").value(), kCard);
    EXPECT_EQ(
        known_gpu(view, "0000:00:06.0" + std::string{partition.substr(whole_id(partition).size())})
            .value()
            ->id,
        partition);
    EXPECT_EQ(known_gpu(view, kCard).value(), &report.gpus.front());
    EXPECT_EQ(known_gpu(view, "pci:0000:00:07.0").error().code, ErrorCode::UnknownDevice);
    EXPECT_EQ(plain_id("platform:Soc@0"), "platform:soc@0");
}

TEST(ComputeView, BorrowsAMachineThatIsNotDivided) {
    for (const auto& fixture : {laptop(), headless_h200(), two_identical()}) {
        const auto report = assembled(fixture);
        EXPECT_EQ(&ComputeView{report}.report(), &report) << fixture.name;
    }
}

TEST(PlainId, IsEqualForEachSpellingOfAnId) {
    for (const auto* spelling :
         {"pci:0000:00:06.0", "PCI:0000:00:06.0", "0000:00:06.0", "00000000:00:06.0", "00:06.0"})
        EXPECT_EQ(plain_id(spelling), plain_id(kCard)) << spelling;
    for (const auto* other : {"pci:0001:00:06.0", "pci:0000:00:06.1", "pci:0000:00:06.0/mig-1", ""})
        EXPECT_NE(plain_id(other), plain_id(kCard)) << other;
}

TEST(WholeId, IsTheIdOfTheGpuOfAPartition) {
    EXPECT_EQ(whole_id("pci:0000:00:06.0/mig-1"), kCard);
    EXPECT_EQ(whole_id(kCard), kCard);
    EXPECT_EQ(whole_id(""), "");
}

TEST(ComputeView, LeavesOutPartitionsThatNothingCanUse) {
    auto report = with_cuda_on(kInstance);
    ASSERT_EQ(report.gpus.front().partitions.size(), 2U);
    report.gpus.front().partitions[1].state = "no-compute-instance";
    const ComputeView view{report};
    ASSERT_EQ(view.report().gpus.size(), 1U);
    EXPECT_EQ(view.report().gpus[0].id, "pci:0000:00:06.0/mig-1");
    EXPECT_EQ(&view.whole(), &report);
    EXPECT_EQ(view.whole().gpus.front().partitions.size(), 2U);
}

TEST(ComputeView, LeavesOtherGpusUnchanged) {
    auto report = with_cuda_on(kInstance);
    const auto other = assembled(laptop()).gpus.front();
    report.gpus.push_back(other);
    const ComputeView view{report};
    ASSERT_EQ(view.report().gpus.size(), 3U);
    EXPECT_EQ(gpu_at(view.report(), other.id), other);
    EXPECT_EQ(partition_of(other), nullptr);
    EXPECT_FALSE(stands_alone(other));
}

TEST(KeyByAddress, NamesAGpuWithAKnownAddress) {
    const auto gpu = gpu_at(assembled(headless_h200()), kCard);
    EXPECT_EQ(key_by_address(gpu), kCard);
    EXPECT_EQ(key_by_address(Gpu{.id = "cuda:0"}), std::nullopt);
}

}  // namespace compute_view_test
}  // namespace gpuprobe::test
