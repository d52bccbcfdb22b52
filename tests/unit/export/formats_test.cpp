// SPDX-License-Identifier: Apache-2.0
#include "export/formats.h"

#include <algorithm>

#include "partition/export/fleet.h"
#include "report/compute_view.h"

namespace gpuprobe {
namespace {

using namespace testing_fleet;

TEST(Prometheus, EscapesWhatALabelCannotHold) {
    auto gpu = h200();
    gpu.name = "A \"card\" \\ of\nodd name";
    const auto report = report_of({gpu});
    const auto text = write_prometheus(subject_of(report)).text.value_or("");
    EXPECT_NE(text.find(R"(model="NVIDIA A \"card\" \\ of)"), std::string::npos) << text;
    for (const auto line : split(text, '\n'))
        EXPECT_TRUE(line.empty() || line.starts_with("#") || line.starts_with("gpuprobe_")) << line;
}

TEST(Prometheus, LeavesOutWhatIsNotKnown) {
    auto gpu = h200();
    gpu.memory = {};
    gpu.backends["vulkan"].usable.reset();
    const auto report = report_of({gpu});
    const auto text = write_prometheus(subject_of(report)).text.value_or("");
    EXPECT_EQ(text.find("gpuprobe_gpu_memory_bytes"), std::string::npos);
    EXPECT_EQ(text.find("api=\"vulkan\""), std::string::npos);
}

TEST(Prometheus, DropsVerdictsOverTheBudget) {
    const auto report = mixed();
    auto answer = llama();
    for (int index = 0; index < 64; ++index)
        answer.candidates.push_back(judged("v" + std::to_string(index), Verdict::Rejected));
    const auto exported = write_prometheus(subject_of(report, {answer}));
    EXPECT_EQ(exported.text->find("gpuprobe_variant_supported"), std::string::npos);
    EXPECT_EQ(codes(exported.left_out), std::vector<std::string>{"over-budget"});
}

TEST(Prometheus, SaysThatAProbeWasCutShort) {
    auto report = mixed();
    report.probes = {{.api = "vulkan", .outcome = Outcome::TimedOut}};
    EXPECT_TRUE(has_line(write_prometheus(subject_of(report)), "gpuprobe_last_probe_success 0"));
}

TEST(Prometheus, CountsTheGpusOfEachFinding) {
    const auto report = report_of({h200()});
    auto subject = subject_of(report);
    const auto finding = [](const char* id, std::vector<std::string> gpus) {
        return Value{
            Value::Object{{"id", id}, {"severity", "error"}, {"gpus", to_value(std::move(gpus))}}};
    };
    subject.findings = Value{
        Value::Array{finding("no-driver", {"pci:0000:01:00.0", "pci:0000:02:00.0"}),
                     finding("no-driver", {"pci:0000:03:00.0"}), finding("weak-confinement", {})}};
    const auto exported = write_prometheus(subject);
    EXPECT_TRUE(has_line(exported, R"(gpuprobe_finding{finding="no-driver",severity="error"} 3)"));
    EXPECT_TRUE(
        has_line(exported, R"(gpuprobe_finding{finding="weak-confinement",severity="error"} 1)"));
    EXPECT_EQ(write_prometheus(subject_of(report)).text->find("gpuprobe_finding"),
              std::string::npos);
}

TEST(Prometheus, TellsWhatIsKnownOfAccelerators) {
    auto report = report_of({h200()});
    report.accelerators = {
        {.id = "pci:0000:19:00.0",
         .kind = "training",
         .vendor = "habana",
         .name = "GAUDI2",
         .pci = PciInfo{.address = PciAddress{.bus = 0x19}},
         .memory = gib(96),
         .power = {.draw = 93'500'000, .limit = 600'000'000, .temperature = -50}},
        {.id = "platform:fdab0000.npu", .power = {.draw = 7}}};
    const auto exported = write_prometheus(subject_of(report));
    for (
        const auto* line :
        {R"(gpuprobe_accelerator_info{accelerator="0000:19:00.0",vendor="habana",model="GAUDI2",kind="training",driver="",driver_version="",firmware=""} 1)",
         R"(gpuprobe_accelerator_memory_bytes{accelerator="0000:19:00.0"} 103079215104)",
         R"(gpuprobe_accelerator_power_limit_watts{accelerator="0000:19:00.0"} 600)",
         R"(gpuprobe_accelerator_power_watts{accelerator="0000:19:00.0"} 93.5)",
         R"(gpuprobe_accelerator_power_watts{accelerator="platform:fdab0000.npu"} 0.000007)",
         R"(gpuprobe_accelerator_temperature_celsius{accelerator="0000:19:00.0"} -0.05)"})
        EXPECT_TRUE(has_line(exported, line)) << line;
    EXPECT_EQ(exported.text->find("power_limit_watts{accelerator=\"platform"), std::string::npos);
    auto later = report;
    later.accelerators.front().power.draw = 94'000'000;
    EXPECT_TRUE(says_the_same(*exported.text, *write_prometheus(subject_of(later)).text));
}

/// A collector refuses points that are old, or shows none after five minutes; a report may be days
/// old.
TEST(Otlp, IsOfTheTimeWhenTheMachineWasSeen) {
    const auto report = mixed();
    auto subject = subject_of(report);
    subject.observed = WallTime{std::chrono::seconds{1800000000}};
    const auto text = write_otlp(subject).text.value_or("");
    EXPECT_NE(text.find(R"("timeUnixNano":"1800000000000000000")"), std::string::npos);
    EXPECT_EQ(text.find("1795216000"), std::string::npos) << "when the report began";
}

/// A collector that reads files takes two for the same where their first 1,000 bytes are.
TEST(Otlp, TellsTheTimeEarly) {
    const auto report = mixed();
    auto subject = subject_of(report);
    subject.node = std::string(64, 'n');  // as long as Linux lets a name be
    EXPECT_LT(write_otlp(subject).text.value_or("").find("1795216000000000000"), 900);
}

/// Ids of hardware are those of a machine, and every machine's first GPU has the same.
TEST(Otlp, TellsMachinesApart) {
    const auto report = mixed();
    auto subject = subject_of(report);
    const auto one = write_otlp(subject).text.value_or("");
    subject.node = "other";
    EXPECT_NE(one, write_otlp(subject).text);
    subject.node = "";
    const auto unnamed = write_otlp(subject).text.value_or("");
    EXPECT_EQ(unnamed.find("service.instance.id"), std::string::npos);
    EXPECT_EQ(unnamed.find("host.name"), std::string::npos);
}

TEST(Slurm, GivesOneVendorItsFlags) {
    const auto report = report_of({h200("0000:18:00.0", "0"), h200("0000:19:00.0", "1")});
    const auto exported = write_slurm_gres(subject_of(report));
    EXPECT_TRUE(has_line(
        exported, "NodeName=vm Name=gpu Type=nvidia_h200 File=/dev/nvidia1 Flags=nvidia_gpu_env"));
    EXPECT_EQ(exported.text->find("igpu"), std::string::npos);
    EXPECT_TRUE(exported.notes.empty());
}

TEST(Slurm, GivesTwoVendorsNone) {
    auto card = raphael();
    card.kind = GpuKind::Discrete;
    const auto report = report_of({h200(), card});
    const auto exported = write_slurm_gres(subject_of(report));
    EXPECT_TRUE(has_line(
        exported,
        "NodeName=vm Name=gpu Type=amd_gfx1036 File=/dev/dri/renderD129 Flags=no_gpu_env"));
    EXPECT_EQ(codes(exported.notes), std::vector<std::string>{"mixed-vendors"});
}

TEST(Slurm, CountsAnIntegratedGpuThatIsAlone) {
    const auto report = report_of({raphael()});
    EXPECT_TRUE(has_line(
        write_slurm_gres(subject_of(report)),
        "NodeName=vm Name=gpu Type=amd_gfx1036 File=/dev/dri/renderD129 Flags=amd_gpu_env"));
}

TEST(Slurm, CountsNodesAsNumbers) {
    std::vector<Gpu> gpus;
    for (const auto* minor : {"10", "2"})
        gpus.push_back(h200("0000:" + std::string{minor[0]} + "8:00.0", minor));
    const auto report = report_of(gpus);
    const auto text = *write_slurm_gres(subject_of(report)).text;
    EXPECT_LT(text.find("/dev/nvidia2"), text.find("/dev/nvidia10"));
}

TEST(Slurm, LeavesOutWhatHasNoNode) {
    auto missing = h200();
    missing.nodes = {{.path = "/dev/nvidia0", .accessible = false, .reason = "missing"}};
    auto divided = h200("0000:19:00.0", "1");
    divided.partitions = {{.name = "mig-1"}};
    const auto report = report_of({missing, divided});
    const auto exported = write_slurm_gres(subject_of(report));
    EXPECT_EQ(exported.text->find("File="), std::string::npos);
    EXPECT_EQ(codes(exported.left_out), (std::vector<std::string>{"no-gres", "no-gres"}));
}

/// An H200 of which one instance can be told to Slurm and one can't.
Report divided() {
    auto gpu = h200();
    gpu.partitions = {{.name = "mig-1",
                       .profile = "3g.71gb",
                       .gpu_instance = 1,
                       .memory = FactMemory{.total = gib(70)},
                       .nodes = {"/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"}},
                      {.name = "mig-9", .profile = "1g.18gb+me"}};
    return report_of({gpu});
}

TEST(Slurm, GivesAnInstanceWithItsCapabilities) {
    const auto report = divided();
    const ComputeView view{report};
    const auto exported = write_slurm_gres(subject_of(view.report()));
    EXPECT_NE(exported.text->find("Type=nvidia_h200_3g.71gb MultipleFiles=/dev/nvidia0,"
                                  "/dev/nvidia-caps/nvidia-cap12,/dev/nvidia-caps/nvidia-cap13"),
              std::string::npos)
        << *exported.text;
    EXPECT_EQ(codes(exported.left_out), std::vector<std::string>{"no-gres"});
}

TEST(Partitions, AreToldAsKubernetesPluginsNameThem) {
    const auto report = divided();
    const ComputeView view{report};
    const auto labels = *write_nfd(subject_of(view.report())).text;
    EXPECT_NE(labels.find("/gpu.partition.mig-3g.71gb=1\n"), std::string::npos) << labels;
    EXPECT_NE(labels.find("/gpu.partition.mig-1g.18gb.me=1\n"), std::string::npos) << labels;
    const auto metrics = *write_prometheus(subject_of(view.report())).text;
    EXPECT_NE(metrics.find("/mig-1\",whole=\""), std::string::npos) << metrics;
    EXPECT_EQ(write_prometheus(subject_of(report_of({h200()}))).text->find("partition_info"),
              std::string::npos);
}

TEST(Slurm, RefusesTwoVerdictsOfOneName) {
    const auto report = mixed();
    auto other = llama();
    other.application = "llama-cpp";
    const auto exported = write_slurm_node(subject_of(report, {llama(), other}));
    EXPECT_FALSE(exported.text);
    EXPECT_EQ(codes(exported.left_out), std::vector<std::string>{"collision"});
}

TEST(Slurm, HoldsItsBudgetOfFeatures) {
    const auto report = mixed();
    Recommendation answer{.application = "p"};
    for (int index = 0; index < 200; ++index)
        answer.candidates.push_back(
            judged("variant-number-" + std::to_string(index), Verdict::Accepted));
    const auto exported = write_slurm_node(subject_of(report, {answer}));
    EXPECT_LT(exported.text->size(), 2300U);
    EXPECT_EQ(codes(exported.left_out), std::vector<std::string>{"over-budget"});
}

TEST(Slurm, RefusesANameThatIsMoreThanAName) {
    const auto report = mixed();
    for (const auto* name : {"", "a b", "a\nNodeName=b", "a,b"}) {
        auto subject = subject_of(report);
        subject.node = name;
        EXPECT_FALSE(write_slurm_gres(subject).text) << name;
    }
}

TEST(Cdi, LeavesNvidiaToItsOwnTool) {
    const auto report = report_of({h200()});
    const auto exported = write_cdi(subject_of(report));
    EXPECT_FALSE(exported.text);
    EXPECT_EQ(codes(exported.left_out), std::vector<std::string>{"no-device"});
    EXPECT_EQ(codes(exported.notes), std::vector<std::string>{"vendor-cdi"});
}

TEST(Cdi, NamesComputeNodeWhereThereIsOne) {
    auto report = report_of({raphael()});
    EXPECT_EQ(write_cdi(subject_of(report)).text->find("/dev/kfd"), std::string::npos);
    report.nodes = {node("/dev/kfd")};
    EXPECT_NE(write_cdi(subject_of(report)).text->find("/dev/kfd"), std::string::npos);
}

TEST(Nfd, StartsNoCommentThatIsADirective) {
    const auto report = mixed();
    const auto text = *write_nfd(subject_of(report, {llama()})).text;
    for (const auto line : split(text, '\n'))
        EXPECT_TRUE(!line.starts_with("# +") || line == "# +no-label" ||
                    line.starts_with("# +expiry-time="))
            << line;
}

TEST(Nfd, CutsAModelToOneLine) {
    auto gpu = h200();
    gpu.name = "evil\nfeature.node.kubernetes.io/x=y";
    const auto report = report_of({gpu});
    EXPECT_FALSE(has_line(write_nfd(subject_of(report)), "feature.node.kubernetes.io/x=y"));
}

TEST(SaysTheSame, DoesNotCareWhenItWasSaid) {
    auto report = mixed();
    auto later = report;
    later.created = WallTime{std::chrono::seconds{1800000000}};
    later.generation = 99;
    auto then = subject_of(later, {llama()});
    then.expires = WallTime{std::chrono::seconds{1800000000}};
    for (const auto& format : export_formats()) {
        const auto left = *format.write(subject_of(report, {llama()})).text;
        const auto right = *format.write(then).text;
        EXPECT_TRUE(says_the_same(left, right)) << format.name;
        EXPECT_TRUE(lost_lines(left, right).empty()) << format.name;
    }
}

TEST(SaysTheSame, CaresAboutAGpu) {
    const auto report = mixed();
    const auto fewer = report_of({h200()});
    for (const auto& format : export_formats()) {
        const auto right = format.write(subject_of(fewer)).text;
        const auto left = *format.write(subject_of(report)).text;
        EXPECT_FALSE(says_the_same(left, right.value_or(""))) << format.name;
        EXPECT_FALSE(lost_lines(left, right.value_or("")).empty()) << format.name;
    }
}

TEST(IsUnsettled, UntilADriverIsGivenUp) {
    auto report = mixed();
    EXPECT_FALSE(is_unsettled(report));
    report.probes = {{.api = "vulkan", .driver = "a.json", .outcome = Outcome::Crashed}};
    EXPECT_TRUE(is_unsettled(report));
    report.quarantine = {{.api = "vulkan", .driver = "a.json"}};
    EXPECT_FALSE(is_unsettled(report));
    report.quarantine[0].driver = "b.json";
    EXPECT_TRUE(is_unsettled(report));
    report.probes.clear();
    report.state = ReportState::Probing;
    EXPECT_TRUE(is_unsettled(report));
}

TEST(ExportFormat, IsFoundByItsName) {
    EXPECT_EQ(export_format("nfd")->name, "nfd");
    EXPECT_EQ(export_format("xml"), nullptr);
}

TEST(ExportFormat, CarriesItsMarker) {
    const auto report = mixed();
    for (const auto& format : export_formats())
        EXPECT_NE(format.write(subject_of(report)).text->find(format.marker), std::string::npos)
            << format.name;
}

}  // namespace
}  // namespace gpuprobe
