// SPDX-License-Identifier: Apache-2.0
#include "report/partition.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "report/compute_view.h"
#include "unit/report/instances.h"

namespace gpuprobe::test {
namespace partition_test {

std::vector<Partition> partitions_with(const char* mig_devices) {
    return gpu_at(assembled(scene_with(mig_devices)), kCard).partitions;
}

TEST(Partitions, AreTheInstancesThatNvmlLists) {
    const auto partitions = partitions_with(kTwo);
    ASSERT_EQ(partitions.size(), 2U);
    EXPECT_EQ(partitions[0].id, "pci:0000:00:06.0/mig-1");
    EXPECT_EQ(partitions[0].profile, "3g.71gb");
    EXPECT_EQ(partitions[0].uuid, kInstance);
    EXPECT_EQ(partitions[0].memory, (FactMemory{.total = mib(71424), .free = Bytes{74000000000}}));
    EXPECT_EQ(partitions[0].nodes, (std::vector<std::string>{"/dev/a", "/dev/b"}));
    EXPECT_EQ(partitions[1].name, "mig-5.1");
    EXPECT_EQ(partitions[1].profile, "1c.2g.35gb");  // no driver reported the name; 2/8 of 141 GiB
    EXPECT_EQ(partitions[1].memory, FactMemory{.total = Bytes{37446746112}});
}

TEST(Partitions, AreTheKernelsWhereNvmlListsNone) {
    for (const auto* nothing : {"[]", "null", "5", "{}"}) {
        const auto partitions = partitions_with(nothing);
        ASSERT_EQ(partitions.size(), 2U) << nothing;
        EXPECT_EQ(partitions[1].id, "pci:0000:00:06.0/mig-2");
        EXPECT_EQ(partitions[1].uuid, std::nullopt);
        EXPECT_EQ(partitions[1].memory, std::nullopt);
    }
}

TEST(Partitions, KeepTheUuidOfAnOldDriver) {
    const auto partitions = partitions_with(
        R"([{"index":0,"uuid":"MIG-GPU-7e611089-1272-699d-8985-ab84fef4311e/3/0"}])");
    EXPECT_EQ(partitions.at(0).uuid, "MIG-GPU-7e611089-1272-699d-8985-ab84fef4311e/3/0");
    EXPECT_EQ(partitions.at(0).name, "mig-slot0");
}

TEST(Partitions, DoNotBelieveMaskedUuidsAndImpossibleSizes) {
    for (const auto* entry :
         {R"([{"uuid":"MIG-00000000-0000-0000-0000-000000000000","memory":{"total":0,"free":0}}])",
          R"([{"uuid":"GPU-7e611089-1272-699d-8985-ab84fef4311e","memory":{"free":5}}])",
          R"([{"uuid":"MIG-","memory":{"total":18446744073709551615},"gpu_instance":-1}])",
          R"([7])", R"([{"name":"X MIG ../../g.x","gpu_slices":99999999999}])"}) {
        const auto partitions = partitions_with(entry);
        ASSERT_EQ(partitions.size(), 1U) << entry;
        EXPECT_EQ(partitions[0].uuid, std::nullopt) << entry;
        EXPECT_EQ(partitions[0].memory, std::nullopt) << entry;
        EXPECT_EQ(partitions[0].name, "mig-slot0") << entry;
    }
    EXPECT_EQ(partitions_with(R"([{"memory":{"total":5,"free":6}}])").at(0).memory,
              FactMemory{.total = Bytes{5}});
    EXPECT_EQ(partitions_with(R"([{"gpu_instance":1},{"gpu_instance":1}])").size(), 1U);
}

TEST(Partitions, AreKnownWhereTheHardwareIsHidden) {
    auto fixture = headless_h200();
    fixture.machine.devices.clear();
    fixture.probes.at(1).devices.front().extra["mig_devices"] = json(R"([{"index":0}])");
    EXPECT_EQ(gpu_at(assembled(fixture), kCard).partitions.size(), 1U);
}

TEST(Partitions, HaveTheMemoryThatApisAreHeldAgainst) {
    const auto report = with_cuda_on(kInstance);
    const auto gpu = gpu_at(report, kCard);
    EXPECT_EQ(gpu.memory.physical, mib(143771));
    EXPECT_EQ(gpu.memory.allocatable, mib(71424));
    EXPECT_FALSE(has_reason(gpu.findings, "memory-mismatch"));
    EXPECT_EQ(gpu.name, "NVIDIA H200");
    EXPECT_EQ(gpu.partitions.at(0).indices.at("cuda"), 0U);
    EXPECT_TRUE(gpu.partitions.at(1).indices.empty());
    const auto other = gpu_at(with_cuda_on(kOtherInstance), kCard);
    EXPECT_TRUE(has_reason(other.findings, "memory-mismatch"));
    EXPECT_EQ(other.partitions.at(1).indices.at("cuda"), 0U);
}

TEST(Partitions, AreFreeTogether) {
    const auto memory_with = [](const char* mig_devices) {
        return gpu_at(assembled(scene_with(mig_devices)), kCard).memory;
    };
    constexpr const char* kThree = R"([
        {"gpu_instance":1,"compute_instance":0,"memory":{"total":70000000000,"free":60000000000}},
        {"gpu_instance":2,"compute_instance":0,"memory":{"total":30000000000,"free":20000000000}},
        {"gpu_instance":2,"compute_instance":1,"memory":{"total":30000000000,"free":20000000000}}])";
    EXPECT_EQ(memory_with(kThree).free, Bytes{80000000000});
    EXPECT_EQ(memory_with(kThree).allocatable, Bytes{70000000000});
    // The second instance does not report its free memory, so the card's free memory is used.
    EXPECT_EQ(memory_with(kTwo).free, memory_with("[]").free);
    // The sum exceeds the card's memory, so the instances share the memory.
    constexpr const char* kShared = R"([
        {"gpu_instance":1,"memory":{"total":150000000000,"free":60000000000}},
        {"gpu_instance":2,"memory":{"total":150000000000,"free":50000000000}}])";
    EXPECT_EQ(memory_with(kShared).free, Bytes{60000000000});
}

ProbeResult trial_of(const char* uuid, const char* result) {
    DeviceFacts device{.index = 0, .name = "NVIDIA H200 MIG 3g.71gb", .uuid = uuid};
    device.extra["check"] = json(R"({"words":4,"wrong_words":0})");
    device.extra["check"]["result"] = result;
    auto trial = probe("cuda", "", Outcome::Answered, {device});
    trial.stage = "verify";
    trial.device = std::string{"uuid:"} + uuid;
    return trial;
}

constexpr const char* kWhole = "pci:0000:00:07.0";
constexpr const char* kDivided = "pci:0000:00:08.0";
constexpr const char* kThirdInstance = "MIG-9e611089-1272-699d-8985-ab84fef4311e";

/// Three H200s, of which the first and the last are in MIG mode. CUDA shows the first instance.
MachineFixture three_cards() {
    auto fixture = scene_with(kTwo);
    fixture.probes.at(0).devices.front().uuid = kInstance;
    auto& nvml = fixture.probes.at(1).devices;
    nvml.front().extra["mig_mode"] = true;
    const auto hardware = fixture.machine.devices.front();
    for (const auto* id : {kWhole, kDivided}) {
        auto card = hardware;
        card.id = id;
        card.pci = address(id + 4);
        card.partitions.clear();
        card.uuid.reset();
        fixture.machine.devices.push_back(card);
        auto facts = nvml.front();
        facts.index = static_cast<std::uint32_t>(nvml.size());
        facts.pci = card.pci;
        facts.uuid = "GPU-1" + std::to_string(nvml.size()) + "611089-1272-699d-8985-ab84fef4311e";
        facts.extra["mig_mode"] = id == kDivided;
        facts.extra["mig_devices"] = json("[]");
        if (id == kDivided)
            facts.extra["mig_devices"] = json(R"([{"index":0,"gpu_instance":1,"compute_instance":0,
                "uuid":"MIG-9e611089-1272-699d-8985-ab84fef4311e"}])");
        nvml.push_back(std::move(facts));
    }
    return fixture;
}

TEST(Partitions, OfOneCardHideTheOtherCardsFromCuda) {
    const auto report = assembled(three_cards());
    ASSERT_EQ(report.gpus.size(), 3U);
    const ComputeView view{report};
    ASSERT_EQ(view.report().gpus.size(), 4U);
    for (const auto& gpu : view.report().gpus) {
        const auto& cuda = gpu.backends.at("cuda");
        EXPECT_EQ(cuda.usable, true) << gpu.id;
        EXPECT_EQ(has_reason(cuda.reasons, "one-instance-listed"),
                  gpu.id != "pci:0000:00:06.0/mig-1")
            << gpu.id;
    }
}

TEST(Partitions, AndGpusThatCudaListsWhenNamedAreVerified) {
    auto fixture = three_cards();
    fixture.probes.push_back(trial_of(kThirdInstance, "verified"));
    auto whole = trial_of("GPU-11611089-1272-699d-8985-ab84fef4311e", "miscomputed");
    whole.device = kWhole;
    whole.devices.front().pci = address(kWhole + 4);
    fixture.probes.push_back(std::move(whole));
    const auto report = assembled(fixture);
    EXPECT_EQ(gpu_at(report, kWhole).backends.at("cuda").usable, false);
    EXPECT_TRUE(has_reason(gpu_at(report, kWhole).backends.at("cuda").reasons, "miscomputed"));
    const ComputeView view{report};
    const auto third = gpu_at(view.report(), "pci:0000:00:08.0/mig-1");
    EXPECT_TRUE(third.backends.at("cuda").verified);
    EXPECT_TRUE(third.apis.at("cuda").device.is_null()) << "it is not listed";
    EXPECT_FALSE(gpu_at(view.report(), "pci:0000:00:06.0/mig-1").backends.at("cuda").verified);
}

Gpu gpu_with_vulkan(const char* profile) {
    auto fixture = scene_with("[]");
    auto instance = json(R"({"index":0,"gpu_instance":3,"compute_instance":0})");
    instance["name"] = std::string{"NVIDIA RTX PRO 6000 MIG "} + profile;
    auto& extra = fixture.probes.at(1).devices.front().extra;
    extra["mig_mode"] = true;
    extra["mig_devices"].push_back(std::move(instance));
    return gpu_at(assembled(fixture), kCard);
}

/// In this case, the Vulkan driver works but does not list the GPU.
TEST(Partitions, HaveNoVulkanButWithGraphicsInTheirProfile) {
    for (const auto* profile : {"1g.24gb", "1g.24gb+me"}) {
        const auto vulkan = gpu_with_vulkan(profile).backends.at("vulkan");
        EXPECT_EQ(vulkan.usable, false) << profile;
        EXPECT_TRUE(has_reason(vulkan.reasons, "mig-without-graphics")) << profile;
    }
    auto unasked = scene_with(kTwo);
    unasked.probes.pop_back();
    unasked.probes.at(1).devices.front().extra["mig_mode"] = true;
    const auto report = assembled(unasked);
    EXPECT_TRUE(
        has_reason(gpu_at(report, kCard).backends.at("webgpu").reasons, "mig-without-graphics"))
        << "it need not be asked";
    const auto vulkan = gpu_with_vulkan("1g.24gb+gfx").backends.at("vulkan");
    EXPECT_EQ(vulkan.usable, std::nullopt);
    EXPECT_FALSE(has_reason(vulkan.reasons, "mig-without-graphics"));
}

TEST(Partitions, AreVerifiedOneByOne) {
    auto fixture = scene_with(kTwo);
    fixture.probes.at(0).devices.front().uuid = kInstance;
    fixture.probes.push_back(trial_of(kInstance, "verified"));
    fixture.probes.push_back(trial_of(kOtherInstance, "miscomputed"));
    fixture.probes.push_back(trial_of("MIG-9e611089-1272-699d-8985-ab84fef4311e", "verified"));
    const auto report = assembled(fixture);
    const ComputeView view{report};
    const auto& first = view.report().gpus.at(0).backends.at("cuda");
    EXPECT_TRUE(first.verified);
    ASSERT_TRUE(first.verification);
    const auto& second = view.report().gpus.at(1).backends.at("cuda");
    EXPECT_FALSE(second.verified);
    EXPECT_EQ(second.usable, false);
    EXPECT_TRUE(has_reason(second.reasons, "miscomputed"));
    std::vector<std::optional<std::string>> tried;
    for (const auto& entry : report.probes)
        if (entry.stage == "verify")
            tried.push_back(entry.device);
    EXPECT_EQ(tried, (std::vector<std::optional<std::string>>{
                         "pci:0000:00:06.0/mig-1", "pci:0000:00:06.0/mig-5.1", std::nullopt}));
}

TEST(Partitions, TakeTheirUuidFromCudaWhereNvmlIsNotThere) {
    auto fixture = scene_with("[]");
    auto& cuda = fixture.probes.at(0).devices.front();
    cuda.uuid = kInstance;
    cuda.name = "NVIDIA H200 MIG 3g.71gb";
    cuda.memory = FactMemory{.total = mib(71424)};
    fixture.probes.erase(fixture.probes.begin() + 1);
    const auto gpu = gpu_at(assembled(fixture), kCard);
    EXPECT_EQ(gpu.partitions.at(0).uuid, kInstance);
    EXPECT_EQ(gpu.partitions.at(0).profile, "3g.71gb");
    EXPECT_EQ(gpu.partitions.at(1).uuid, std::nullopt);
    const Report report{.gpus = {gpu}};
    const ComputeView view{report};
    EXPECT_EQ(view.report().gpus.at(0).backends.at("cuda").usable, true);
    EXPECT_EQ(view.report().gpus.at(1).backends.at("cuda").usable, std::nullopt)
        << "nothing names it";
    fixture.machine.devices.front().partitions = {
        {.name = "mig-1", .gpu_instance = 1, .state = "no-compute-instance"}};
    fixture.probes.at(0).devices.front().pci = address("0000:99:00.0");
    const auto waiting = gpu_at(assembled(fixture), kCard);
    EXPECT_EQ(waiting.backends.at("cuda").usable, false);
    EXPECT_TRUE(has_reason(waiting.backends.at("cuda").reasons, "mig-without-compute-instance"));
}

/// A card with four partitions, as listed by ROCm and by kernels in which the PCI function is the
/// number of the partition.
MachineFixture divided_radeon(bool reports_nodes) {
    auto card = pci_device("0000:05:00.0", "1002", "74a1", "1200");
    card.driver = "amdgpu";
    card.uuid = "e3aa140f9a5f9e31";
    card.memory = {{.source = "amdgpu-sysfs", .what = "total", .bytes = gib(192)}};
    card.extra["compute_partition"] = "cpx";
    card.extra["memory_partition"] = "nps4";
    card.is_drm = true;
    card.drm.render = "226:128";
    std::vector<DeviceFacts> listed;
    for (std::uint32_t i = 0; i < 4; ++i) {
        const auto path = "/dev/dri/renderD" + std::to_string(128 + i);
        card.nodes.push_back(node(path.c_str()));
        card.partitions.push_back({.name = "xcp-" + std::to_string(i),
                                   .node = path,
                                   .nodes = {path},
                                   .kfd_node = 2 + i,
                                   .memory = gib(48)});
        DeviceFacts facts{.index = 3 - i, .name = "AMD Instinct MI300X", .vendor_id = "1002"};
        facts.pci = address(("0000:05:00." + std::to_string(i)).c_str());
        facts.memory = FactMemory{.total = gib(48)};
        if (reports_nodes)
            facts.extra["kfd_node"] = 2 + i;
        listed.push_back(std::move(facts));
    }
    return MachineFixture{.name = "divided-radeon",
                          .machine = {.host = linux_host(), .devices = {card}},
                          .probes = {probe("hip", "", Outcome::Answered, listed)}};
}

TEST(Partitions, OfACardAreWhatRocmListsInItsSlot) {
    for (const bool reports_nodes : {true, false}) {
        const auto report = assembled(divided_radeon(reports_nodes));
        ASSERT_EQ(report.gpus.size(), 1U);
        const auto& gpu = report.gpus[0];
        EXPECT_TRUE(gpu.findings.empty());
        EXPECT_EQ(gpu.memory.physical, gib(192));
        EXPECT_EQ(gpu.memory.allocatable, gib(48));
        const ComputeView view{report};
        ASSERT_EQ(view.report().gpus.size(), 4U);
        const auto& last = view.report().gpus[3];
        EXPECT_EQ(last.id, "pci:0000:05:00.0/xcp-3");
        EXPECT_EQ(last.partitions[0].profile, "cpx_nps4");
        EXPECT_EQ(last.apis.at("hip").index, reports_nodes ? 0U : 3U);
        EXPECT_EQ(last.identity.drm.render, "226:131");
        EXPECT_EQ(last.nodes.size(), 1U);
        EXPECT_EQ(last.backends.at("rocm").usable, true);
        EXPECT_FALSE(stands_alone(last));
    }
}

TEST(Partitions, ThatAnApiDoesNotListCanNotBeUsedWithIt) {
    auto fixture = divided_radeon(true);
    fixture.probes[0].devices.erase(fixture.probes[0].devices.begin() + 2);  // xcp-2
    const auto report = assembled(fixture);
    const ComputeView view{report};
    EXPECT_EQ(view.report().gpus.at(1).backends.at("rocm").usable, true);
    EXPECT_EQ(view.report().gpus.at(2).backends.at("rocm").usable, false);
    EXPECT_TRUE(has_reason(view.report().gpus.at(2).backends.at("rocm").reasons, "not-listed"));
}

TEST(Partitions, AreWhatOneDriverListsAtOneAddress) {
    auto fixture = divided_radeon(false);
    fixture.machine.devices[0].partitions.clear();
    for (auto& device : fixture.probes[0].devices)
        device.pci = address("0000:05:00.0");
    const auto report = assembled(fixture);
    const ComputeView view{report};
    ASSERT_EQ(view.report().gpus.size(), 4U);
    EXPECT_EQ(view.report().gpus[2].id, "pci:0000:05:00.0/xcp-2");
    EXPECT_EQ(view.report().gpus[2].apis.at("hip").index, 2U);
    EXPECT_EQ(view.report().gpus[2].memory.allocatable, gib(48));
    for (auto& device : fixture.probes[0].devices)  // one device, listed four times
        device.uuid = "GPU-e3aa140f9a5f9e31";
    EXPECT_TRUE(assembled(fixture).gpus.at(0).partitions.empty());
}

TEST(MigProfile, IsReadFromTheNameOrWorkedOut) {
    const Partition slices{.gpu_slices = 1, .memory = FactMemory{.total = mib(9984)}};
    const auto board = mib(81559);
    EXPECT_EQ(mig_profile("NVIDIA H100 MIG 1g.10gb+me", slices, board), "1g.10gb+me");
    EXPECT_EQ(mig_profile("NVIDIA H100", slices, board), "1g.10gb");
    EXPECT_EQ(mig_profile("NVIDIA H100 MIG $(rm)g.", slices, board), "1g.10gb");
    EXPECT_EQ(mig_profile("NVIDIA H100", slices, std::nullopt), std::nullopt);
    EXPECT_EQ(mig_profile("NVIDIA H100", slices, Bytes{}), std::nullopt);
    EXPECT_EQ(mig_profile("NVIDIA H100", Partition{}, board), std::nullopt);
}

}  // namespace partition_test
}  // namespace gpuprobe::test
