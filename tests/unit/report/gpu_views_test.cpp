// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_views.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "report/api_device.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace gpu_views_test {

constexpr const char* kGpu = "pci:0000:01:00.0";

HardwareDevice bare_nvidia() {
    auto device = nvidia_laptop();
    device.nodes.clear();
    return device;
}

Gpu gpu_of(const HardwareDevice& device,
           std::vector<ProbeResult> probes,
           std::vector<DeviceNode> shared = {}) {
    const Machine machine{.devices = {device}, .shared_nodes = std::move(shared)};
    return gpu_at(assemble(machine, probes, {.now = kNow}), device.id);
}

using Codes = std::vector<std::string>;

std::vector<std::string> codes_of(const std::vector<Reason>& reasons) {
    std::vector<std::string> codes;
    for (const auto& reason : reasons)
        codes.push_back(reason.code);
    return codes;
}

ProbeResult absent_cuda(Outcome outcome, std::vector<Reason> reasons = {}) {
    auto result = probe("cuda", "", outcome);
    result.runtime = {};
    result.reasons = std::move(reasons);
    return result;
}

ProbeResult slowed_by(const char* word, Duration ago) {
    auto result = probe("nvml", "", Outcome::Answered);
    DeviceFacts facts{.index = 0, .pci = bare_nvidia().pci};
    facts.extra["slowdowns"].push_back(Value{word});
    result.devices = {facts};
    result.at = kNow - ago;
    return result;
}

/// If a driver opened the node of another GPU, its result explains nothing about this GPU.
TEST(VaDriver, IsOfTheGpuWhoseNodeItOpened) {
    auto device = bare_nvidia();
    device.nodes = {DeviceNode{.path = "/dev/dri/renderD129"}};
    const auto other = probe("vaapi", "/dev/dri/renderD128", Outcome::Crashed);
    EXPECT_EQ(codes_of(gpu_of(device, {other}).apis.at("vaapi").reasons),
              std::vector<std::string>{"driver-missing"});
    const auto own = probe("vaapi", "/dev/dri/renderD129", Outcome::TimedOut);
    const auto gpu = gpu_of(device, {other, own});
    EXPECT_EQ(gpu.apis.at("vaapi").outcome, Outcome::TimedOut);
    EXPECT_EQ(gpu.apis.at("vaapi").driver, "/dev/dri/renderD129");
    EXPECT_EQ(codes_of(gpu.apis.at("vaapi").reasons), std::vector<std::string>{"driver-timed-out"});
}

TEST(VaDriver, ThatFailsDoesNotMakeTheGpuUnhealthy) {
    auto device = bare_nvidia();
    device.nodes = {DeviceNode{.path = "/dev/dri/renderD129"}};
    for (const auto outcome : {Outcome::Crashed, Outcome::TimedOut, Outcome::Failed}) {
        const auto gpu = gpu_of(device, {probe("vaapi", "/dev/dri/renderD129", outcome)});
        EXPECT_NE(gpu.apis.at("vaapi").reasons, std::vector<Reason>{});
        EXPECT_EQ(gpu.findings, std::vector<Reason>{});
        EXPECT_EQ(gpu.health, "ok");
    }
}

TEST(VideoView, FollowsTheDriverAndTheNode) {
    auto device = amd_card("0000:03:00.0", 0, 128);
    const auto view = [&device](std::vector<ProbeResult> probes) {
        return video_view("vaapi", {}, gpu_of(device, std::move(probes)));
    };
    DeviceFacts facts{.index = 0, .pci = device.pci};
    const auto answer = probe("vaapi", "/dev/dri/renderD128", Outcome::Answered, {facts});
    EXPECT_EQ(view({answer}).usable, true);
    EXPECT_EQ(codes_of(view({}).reasons), Codes{"not-probed"});
    EXPECT_EQ(view({}).usable, std::nullopt);
    const auto crashed = view({probe("vaapi", "/dev/dri/renderD128", Outcome::Crashed)});
    EXPECT_EQ(crashed.usable, std::nullopt);
    EXPECT_EQ(crashed.reasons.front().code, "driver-crashed");
    const auto absent = view({probe("vaapi", "/dev/dri/renderD128", Outcome::Absent)});
    EXPECT_EQ(absent.usable, false);
    device.nodes = {node("/dev/dri/renderD128", false)};
    EXPECT_EQ(view({answer}).usable, false) << "this caller cannot open the node";
    EXPECT_EQ(view({answer}).reasons.front().code, "no-permission");
}

TEST(VideoView, IsCertainIfTheApiListsOnlyOtherGpus) {
    const auto codes = [](std::vector<DeviceFacts> devices) {
        const auto gpu =
            gpu_of(bare_nvidia(), {probe("nvcodec", "", Outcome::Answered, std::move(devices))});
        return codes_of(gpu.apis.at("nvcodec").reasons);
    };
    const DeviceFacts other{.index = 0,
                            .pci = parse_text("0000:77:00.0", std::type_identity<PciAddress>{})};
    EXPECT_EQ(codes({other}), Codes{"not-listed"});
    EXPECT_EQ(codes({}), (Codes{"not-listed", "inconclusive"}));
}

TEST(Slowdowns, AreNvmlsOrTheKernelsWithTheirTime) {
    using Words = std::vector<std::string>;
    const auto power = gpu_of(bare_nvidia(), {slowed_by("thermal", std::chrono::hours{1})}).power;
    EXPECT_EQ(power.slowdowns, Words{"thermal"});
    EXPECT_EQ(power.slowdowns_at, kNow - std::chrono::hours{1});
    auto device = bare_nvidia();
    device.extra["slowdowns"] = Value{Value::Array{}};
    const auto unsensed = gpu_of(device, {}).power;
    EXPECT_EQ(unsensed.slowdowns, std::nullopt) << "nobody knows when";
    device.sensed_at = kNow;
    const auto own = gpu_of(device, {slowed_by("thermal", Duration{1})}).power;
    EXPECT_EQ(own.slowdowns, Words{});
    EXPECT_EQ(own.slowdowns_at, kNow);
    const auto none = gpu_of(bare_nvidia(), {}).power;
    EXPECT_EQ(none.slowdowns, std::nullopt);
    EXPECT_EQ(none.slowdowns_at, std::nullopt);
}

struct Case {
    const char* name;
    ProbeResult cuda;
    Outcome outcome;
    std::optional<bool> usable;
    std::vector<std::string> codes;
};
class UnlistedGpu : public testing::TestWithParam<Case> {};

TEST_P(UnlistedGpu, HasTheReasonOfTheDriverThatShouldServeIt) {
    const auto gpu = gpu_of(bare_nvidia(), {GetParam().cuda});
    EXPECT_EQ(gpu.apis.at("cuda").outcome, GetParam().outcome);
    EXPECT_EQ(codes_of(gpu.apis.at("cuda").reasons), GetParam().codes);
    EXPECT_EQ(gpu.backends.at("cuda").usable, GetParam().usable);
    EXPECT_EQ(codes_of(gpu.backends.at("cuda").reasons), GetParam().codes);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    UnlistedGpu,
    testing::Values(Case{"LibraryMissing", absent_cuda(Outcome::Absent), Outcome::Absent, false,
                         Codes{"loader-missing"}},
                    Case{"ModuleNotLoaded",
                         absent_cuda(Outcome::Absent, {because("driver-not-loaded")}),
                         Outcome::Absent, false, Codes{"driver-not-loaded"}},
                    Case{"LibrarySeesNothing", absent_cuda(Outcome::Absent, {because("no-device")}),
                         Outcome::Absent, std::nullopt,
                         Codes{"not-listed", "no-device", "inconclusive"}},
                    Case{"AnsweredWithoutIt", absent_cuda(Outcome::Answered), Outcome::Absent,
                         std::nullopt, Codes{"not-listed", "inconclusive"}},
                    Case{"Crashed", absent_cuda(Outcome::Crashed), Outcome::Crashed, std::nullopt,
                         Codes{"driver-crashed"}},
                    Case{"Hung", absent_cuda(Outcome::TimedOut), Outcome::TimedOut, std::nullopt,
                         Codes{"driver-timed-out"}},
                    Case{"LeftWithoutAnswer", absent_cuda(Outcome::Failed), Outcome::Failed,
                         std::nullopt, Codes{"driver-failed"}},
                    Case{"SaidNo", absent_cuda(Outcome::Failed, {because("api-refused")}),
                         Outcome::Failed, false, Codes{"driver-failed", "api-refused"}},
                    Case{"Asleep", absent_cuda(Outcome::Skipped, {because("asleep")}),
                         Outcome::Skipped, std::nullopt, Codes{"asleep"}},
                    Case{"SkippedForNoReason", absent_cuda(Outcome::Skipped), Outcome::Skipped,
                         std::nullopt, Codes{"skipped"}}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Backends, AreUnknownBeforeAnyProbe) {
    const auto gpu = gpu_of(bare_nvidia(), {});
    EXPECT_TRUE(gpu.apis.empty());
    EXPECT_EQ(gpu.backends.at("cuda").usable, std::nullopt);
    EXPECT_EQ(codes_of(gpu.backends.at("cuda").reasons), Codes{"not-probed"});
    EXPECT_EQ(gpu.backends.at("rocm").usable, false);
    EXPECT_EQ(codes_of(gpu.backends.at("rocm").reasons), Codes{"vendor-mismatch"});
}

/// The vendor of the GPU behind WSL's driver is unknown, so the results of all vendors' APIs are
/// reported.
TEST(Backends, OfWslsDriverHaveWhatEachVendorsApiSaid) {
    auto device = bare_nvidia();
    device.vendor_id = "1414";
    device.device_id = "008e";
    device.driver = "dxgkrnl";
    const auto gpu = gpu_of(device, {absent_cuda(Outcome::Failed, {because("api-refused")})});
    EXPECT_EQ(gpu.vendor, "microsoft");
    EXPECT_EQ(codes_of(gpu.backends.at("cuda").reasons), (Codes{"driver-failed", "api-refused"}));
    EXPECT_EQ(codes_of(gpu.backends.at("rocm").reasons), Codes{"not-probed"});
    const auto silent = gpu_of(device, {absent_cuda(Outcome::Answered)});
    EXPECT_EQ(codes_of(silent.backends.at("cuda").reasons), Codes{"not-listed"})
        << "whether it should be listed is not known";
}

TEST(Backends, NameTheNodeThatIsShut) {
    auto device = bare_nvidia();
    device.nodes = {node("/dev/nvidia0", false)};
    const auto gpu = gpu_of(device, {absent_cuda(Outcome::Absent, {because("no-device")})});
    const auto& cuda = gpu.backends.at("cuda");
    EXPECT_EQ(cuda.usable, false);
    ASSERT_FALSE(cuda.reasons.empty());
    EXPECT_EQ(cuda.reasons.front(),
              because("no-permission",
                      {{"node", "/dev/nvidia0"}, {"group", "render"}, {"mode", "0660"}}));
    EXPECT_EQ(gpu.health, "no-permission");
}

TEST(Backends, NameTheNodeThatAContainerWasNotGiven) {
    auto device = bare_nvidia();
    device.nodes = {DeviceNode{.path = "/dev/nvidia0", .accessible = false, .reason = "missing"}};
    Machine machine{.host = {.container = "docker"}, .devices = {device}};
    const auto missing =
        because("node-missing", {{"node", "/dev/nvidia0"}, {"container", "docker"}});
    const auto gpu = gpu_at(
        assemble(machine, {absent_cuda(Outcome::Absent, {because("no-device")})}, {.now = kNow}),
        device.id);
    EXPECT_EQ(gpu.findings, std::vector{missing});
    EXPECT_EQ(gpu.backends.at("cuda").usable, false);
    EXPECT_EQ(gpu.backends.at("cuda").reasons.front(), missing);
    EXPECT_EQ(gpu.health, "ok") << "outside of containers the driver makes it when it is needed";
}

TEST(Backends, AreRuledOutByADeviceControlGroup) {
    auto device = bare_nvidia();
    device.nodes = {node("/dev/nvidia0")};
    auto nvml = probe("nvml", "", Outcome::Failed);
    nvml.reasons = {because("device-denied", {{"node", "/dev/nvidiactl"}})};
    auto drm = probe("drm", "", Outcome::Answered);
    drm.reasons = {because("device-denied", {{"node", "/dev/dri/renderD999"}})};
    const auto gpu = gpu_of(device, {nvml, drm, absent_cuda(Outcome::Failed)});
    const auto denied = because("device-denied", {{"node", "/dev/nvidiactl"}});
    EXPECT_EQ(std::ranges::count(gpu.findings, "device-denied", &Reason::code), 1);
    EXPECT_EQ(gpu.backends.at("cuda").usable, false);
    EXPECT_EQ(gpu.backends.at("cuda").reasons, std::vector{denied});
    EXPECT_EQ(gpu.health, "device-denied");
}

TEST(Backends, LookAtTheSharedNodesTheyOpen) {
    const auto card = amd_card("0000:03:00.0", 0, 128);
    const auto gpu = gpu_of(card, {probe("hip", "", Outcome::Answered)}, {node("/dev/kfd", false)});
    EXPECT_EQ(gpu.backends.at("rocm").usable, false);
    EXPECT_EQ(gpu.backends.at("rocm").reasons.front().code, "no-permission");
    EXPECT_EQ(codes_of(gpu.backends.at("vulkan").reasons), Codes{"not-probed"});
}

TEST(Backends, AreRuledOutByPassthrough) {
    auto device = bare_nvidia();
    device.driver = "vfio-pci";
    device.findings = {because("passthrough", {{"driver", "vfio-pci"}})};
    const auto gpu = gpu_of(device, {absent_cuda(Outcome::Answered)});
    for (const auto* backend : {"cuda", "vulkan", "opencl", "webgpu"}) {
        EXPECT_EQ(gpu.backends.at(backend).usable, false) << backend;
        EXPECT_EQ(codes_of(gpu.backends.at(backend).reasons), Codes{"passthrough"}) << backend;
    }
    EXPECT_EQ(gpu.health, "passthrough");
}

TEST(Backends, BlameMissingUvmOnlyOnceCudaWasAsked) {
    auto device = bare_nvidia();
    device.findings = {because("uvm-missing")};
    const auto unasked = {
        std::vector<ProbeResult>{},
        {absent_cuda(Outcome::Skipped, {because("asleep")})},
        {absent_cuda(Outcome::Skipped)},
        {absent_cuda(Outcome::Failed, {because("worker-not-started")})},
    };
    for (const auto& probes : unasked) {
        const auto gpu = gpu_of(device, probes);
        EXPECT_EQ(gpu.backends.at("cuda").usable, std::nullopt);
        EXPECT_FALSE(has_reason(gpu.backends.at("cuda").reasons, "uvm-missing"));
        EXPECT_TRUE(gpu.findings.empty());
        EXPECT_EQ(gpu.health, "ok");
    }
    const auto gpu = gpu_of(device, {absent_cuda(Outcome::Failed, {because("api-refused")})});
    EXPECT_EQ(codes_of(gpu.backends.at("cuda").reasons), Codes{"uvm-missing"});
    EXPECT_EQ(gpu.health, "uvm-missing");
}

TEST(Backends, BelieveAnAnswerBeforeAnySuspicion) {
    auto device = bare_nvidia();
    device.findings = {because("driver-mismatch"), because("uvm-missing")};
    const auto gpu = gpu_of(
        device, {probe("cuda", "", Outcome::Answered, {cuda_facts(0, "0000:01:00.0", mib(7900))})});
    EXPECT_EQ(gpu.backends.at("cuda").usable, true);
    EXPECT_EQ(gpu.health, "driver-mismatch");
}

TEST(Backends, KnowWhatWebGpuMisses) {
    auto facts =
        vulkan_facts(0, "GPU", "10de", "2860", "0000:01:00.0", DeviceType::Discrete, gib(8));
    Value missing{Value::Array{Value{"robustBufferAccess"}}};
    facts.extra["webgpu"] = "no";
    facts.extra["webgpu_missing"] = missing;
    const auto gpu =
        gpu_of(bare_nvidia(), {probe("vulkan", kNvidiaIcd, Outcome::Answered, {facts})});
    EXPECT_EQ(gpu.backends.at("vulkan").usable, true);
    EXPECT_EQ(gpu.backends.at("webgpu").usable, false);
    EXPECT_EQ(gpu.backends.at("webgpu").reasons.front(),
              because("webgpu-features", {{"missing", missing}}));
}

TEST(Backends, AreNoneOfAGpuInMigModeWithoutAnInstance) {
    auto facts = cuda_facts(0, "0000:01:00.0", mib(7900));
    facts.extra["mig_mode"] = true;
    const auto nvml = probe("nvml", "", Outcome::Answered, {facts});
    auto cuda = absent_cuda(Outcome::Absent, {because("no-device")});
    const auto gpu = gpu_of(bare_nvidia(), {nvml, cuda});
    EXPECT_EQ(gpu.backends.at("cuda").usable, false);
    EXPECT_TRUE(has_reason(gpu.backends.at("cuda").reasons, "mig-without-instance"));
    auto partitioned = bare_nvidia();
    partitioned.partitions = {{.name = "mig-1", .gpu_instance = 1, .state = "no-compute-instance"},
                              {.name = "mig-2", .gpu_instance = 2, .state = "no-compute-instance"}};
    const auto waiting = gpu_of(partitioned, {nvml, cuda});
    EXPECT_EQ(waiting.backends.at("cuda").usable, false);
    EXPECT_EQ(waiting.backends.at("cuda").reasons.front(),
              because("mig-without-compute-instance", {{"instances", "1,2"}}));
    EXPECT_TRUE(has_reason(waiting.apis.at("cuda").reasons, "mig-without-compute-instance"));
    partitioned.partitions = {{.name = "mig-1", .gpu_instance = 1, .compute_instance = 0}};
    EXPECT_EQ(gpu_of(partitioned, {nvml, cuda}).backends.at("cuda").usable, std::nullopt);
}

TEST(Backends, AreNotUsableThroughALibraryThatOnlyTheProbeTook) {
    const auto facts =
        vulkan_facts(0, "GPU", "10de", "2860", "0000:01:00.0", DeviceType::Discrete, gib(8));
    auto answer = probe("vulkan", kNvidiaIcd, Outcome::Answered, {facts});
    answer.reasons = {because("nvidia-icd-needs-egl")};
    const auto gpu = gpu_of(bare_nvidia(), {answer});
    EXPECT_EQ(gpu.backends.at("vulkan").usable, false);
    EXPECT_EQ(codes_of(gpu.backends.at("vulkan").reasons),
              std::vector<std::string>{"nvidia-icd-needs-egl"});
    // Another manifest, such as the doctor suggests, names the library that works.
    const auto other = probe("vulkan", "/etc/zz.json", Outcome::Answered, {facts});
    const auto mended = gpu_of(bare_nvidia(), {answer, other});
    EXPECT_EQ(mended.backends.at("vulkan").usable, true);
    EXPECT_EQ(mended.apis.at("vulkan").driver, "/etc/zz.json");
}

TEST(Backends, DoNotTrustADriverThatCrashedAfterItsAnswer) {
    auto result = probe("cuda", "", Outcome::Crashed, {cuda_facts(0, "0000:01:00.0", mib(7900))});
    const auto gpu = gpu_of(bare_nvidia(), {result});
    EXPECT_FALSE(gpu.apis.at("cuda").device.is_null());
    EXPECT_EQ(gpu.apis.at("cuda").outcome, Outcome::Crashed);
    EXPECT_EQ(gpu.backends.at("cuda").usable, std::nullopt);
    EXPECT_EQ(gpu.health, "driver-crashed");
}

TEST(ApiViews, BlameTheDriverOfTheVendor) {
    // One Intel driver crashed. It is not significant that the other Intel driver and NVIDIA's
    // driver do not list this GPU.
    const auto report = assemble(
        Machine{.devices = {intel_integrated()}},
        {probe("vulkan", kIntelIcd, Outcome::Crashed),
         probe("vulkan", "/usr/share/vulkan/icd.d/intel_hasvk_icd.x86_64.json", Outcome::Answered),
         probe("vulkan", kNvidiaIcd, Outcome::Answered)},
        {.now = kNow});
    const auto view = gpu_at(report, "pci:0000:00:02.0").apis.at("vulkan");
    EXPECT_EQ(view.outcome, Outcome::Crashed);
    EXPECT_EQ(view.driver, kIntelIcd);
}

TEST(ApiViews, MissTheDriverOfTheVendor) {
    const auto gpu = gpu_of(amd_card("0000:03:00.0", 0, 128),
                            {probe("vulkan", kNvidiaIcd, Outcome::Answered),
                             probe("vulkan", kLavapipeIcd, Outcome::Answered, {lavapipe_facts()})});
    EXPECT_EQ(codes_of(gpu.apis.at("vulkan").reasons), Codes{"driver-missing"});
    EXPECT_EQ(gpu.backends.at("vulkan").usable, false);
}

TEST(ApiViews, MissAnyDriverWhenTheLoaderHasNone) {
    auto loader = probe("vulkan", "", Outcome::Absent);
    EXPECT_EQ(codes_of(gpu_of(bare_nvidia(), {loader}).apis.at("vulkan").reasons),
              Codes{"loader-missing"});
    loader.runtime["loader"] = "libvulkan.so.1";
    EXPECT_EQ(codes_of(gpu_of(bare_nvidia(), {loader}).apis.at("vulkan").reasons),
              Codes{"driver-missing"});
}

TEST(ApiViews, DoNotExpectNouveausGpuFromNvidiasDriver) {
    auto device = bare_nvidia();
    device.driver = "nouveau";
    const auto gpu = gpu_of(device, {probe("vulkan", kNvidiaIcd, Outcome::Answered)});
    EXPECT_EQ(codes_of(gpu.apis.at("vulkan").reasons), Codes{"driver-missing"});
}

TEST(ApiViews, TellTheAgeOfTheirFacts) {
    const auto gpu = gpu_at(assembled(laptop()), kGpu);
    EXPECT_EQ(gpu.apis.at("cuda").age, std::chrono::seconds{1});
}

TEST(Backends, AreDoubtfulWhereRocmReportsAnotherTargetThanTheKernel) {
    const auto rocm_with = [](const char* target) {
        DeviceFacts facts{.index = 0, .vendor_id = "1002", .device_id = "744c"};
        facts.pci = address("0000:03:00.0");
        facts.extra["gfx_target"] = target;
        const auto report =
            assemble(Machine{.devices = {amd_card("0000:03:00.0", 0, 128)}},
                     {probe("hip", "/opt/rocm/lib/libamdhip64.so.7", Outcome::Answered, {facts})},
                     {.now = kNow});
        return gpu_at(report, "pci:0000:03:00.0").backends.at("rocm");
    };
    EXPECT_EQ(rocm_with("gfx1100:xnack-").usable, true);
    EXPECT_EQ(rocm_with("gfx1036").usable, std::nullopt);
    EXPECT_EQ(codes_of(rocm_with("gfx1036").reasons), Codes{"isa-mismatch"});
}

TEST(Probes, CountOnceWhenRunAgain) {
    auto old = absent_cuda(Outcome::Crashed);
    old.at = kProbed - std::chrono::hours{1};
    const auto report = assemble(
        Machine{.devices = {bare_nvidia()}},
        {probe("cuda", "", Outcome::Answered, {cuda_facts(0, "0000:01:00.0", mib(7900))}), old},
        {.now = kNow});
    EXPECT_EQ(report.probes.size(), 1U);
    EXPECT_EQ(gpu_at(report, kGpu).backends.at("cuda").usable, true);
}

}  // namespace gpu_views_test
}  // namespace gpuprobe::test
