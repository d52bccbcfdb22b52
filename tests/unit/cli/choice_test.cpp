// SPDX-License-Identifier: Apache-2.0
#include "cli/choice.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "report/reason_table.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace choice_test {

Gpu gpu(const char* address, const char* node, const char* uuid) {
    Gpu gpu;
    gpu.id = std::string{"pci:"} + address;
    gpu.name = "Card";
    gpu.pci =
        PciInfo{.address = parse_text(std::string_view{address}, std::type_identity<PciAddress>{})};
    gpu.nodes = {DeviceNode{.path = node}};
    gpu.identity.nvidia_uuid = uuid;
    return gpu;
}

Report two_gpus() {
    Report report;
    report.gpus = {gpu("0000:01:00.0", "/dev/nvidia0", "GPU-aa11"),
                   gpu("0000:c1:00.0", "/dev/nvidia1", "GPU-bb22")};
    return report;
}

std::string picked(const char* selector) {
    const auto report = two_gpus();
    const auto found = pick_gpu(report, selector);
    return found ? (*found)->id : "error: " + found.error().text;
}

TEST(PickGpu, TakesEveryNameThatAPersonHas) {
    for (const char* selector :
         {"pci:0000:c1:00.0", "1", "0000:c1:00.0", "c1:00.0", "C1:00.0", "00000000:C1:00.0",
          "/dev/nvidia1", "pci:0000:c1", "0000:c", "GPU-bb22", "gpu-b"})
        EXPECT_EQ(picked(selector), "pci:0000:c1:00.0") << selector;
}

TEST(PickGpu, TakesAPartOfANameThatNoOtherHas) {
    auto report = two_gpus();
    report.gpus[1].name = "NVIDIA H200";
    for (const char* selector : {"h200", "NVIDIA H200", "nvidia"})
        EXPECT_EQ(pick_gpu(report, selector).value()->id, "pci:0000:c1:00.0") << selector;
    report.gpus[1].name = "UHD Graphics 770";
    EXPECT_EQ(pick_gpu(report, "770").value()->id, "pci:0000:c1:00.0");
    EXPECT_FALSE(pick_gpu(report, "7")) << "a place in the list";
    EXPECT_FALSE(pick_gpu(report, "77"));
    EXPECT_EQ(
        picked("card"),
        "error: 'card' matches several GPUs: pci:0000:01:00.0 (Card), pci:0000:c1:00.0 (Card)");
    report.gpus[0].name = "pci:0000:c1 in its name";  // an id has precedence over a name
    EXPECT_EQ(pick_gpu(report, "pci:0000:c1").value()->id, "pci:0000:c1:00.0");
}

TEST(PickGpu, ListsTheGpusThatAnAmbiguousStartMatches) {
    EXPECT_EQ(
        picked("pci:0000"),
        "error: 'pci:0000' matches several GPUs: pci:0000:01:00.0 (Card), pci:0000:c1:00.0 (Card)");
    EXPECT_EQ(
        picked("GPU-"),
        "error: 'GPU-' matches several GPUs: pci:0000:01:00.0 (Card), pci:0000:c1:00.0 (Card)");
}

TEST(PickGpu, ListsTheGpusIfNoneMatches) {
    for (const char* selector : {"2", "", "/dev/nvidia7", "pci:0000:99:00.0", "zzz"})
        EXPECT_TRUE(picked(selector).starts_with("error: no GPU '")) << selector;
    EXPECT_NE(picked("2").find("this machine has pci:0000:01:00.0 (Card), pci:"),
              std::string::npos);
}

TEST(PickGpu, ReportsThatThereIsNoGpu) {
    const Report report;
    const auto found = pick_gpu(report, "0");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::UnknownDevice);
    EXPECT_EQ(found.error().text, "no GPU '0': this machine has no GPU");
}

TEST(CandidatesText, HasOneRowForEqualGpus) {
    Decision decision{.backend = "cuda", .gpus = {"pci:1", "pci:2", "pci:3"}};
    for (const auto* id : {"pci:1", "pci:2", "pci:3"})
        decision.candidates.push_back({.backend = "cuda", .gpu = id, .verdict = Verdict::Accepted});
    for (const auto* id : {"pci:1", "pci:2", "pci:3"})
        decision.candidates.push_back(
            {.backend = "vulkan",
             .gpu = id,
             .verdict = Verdict::Rejected,
             .reasons = {because(std::string_view{id} == "pci:2" ? *find_reason("stub-library")
                                                                 : *find_reason("no-device"))}});
    decision.candidates.push_back({.backend = "cpu", .verdict = Verdict::Accepted});
    EXPECT_EQ(candidates_text(decision, {}, Screen{.is_unicode = false}),
              "\nCandidates\n"
              "  +  cuda    pci:1 and 2 more  can be used\n"
              "  -  vulkan  pci:1 and 1 more  the driver lists no device\n"
              "  -  vulkan  pci:2             only a stub of the driver library is installed\n"
              "  +  cpu                       can be used\n");
}

TEST(CandidatesText, CountsTheGpusThatShareACandidate) {
    Decision decision{.candidates = {{.backend = "cuda",
                                      .gpu = "pci:1",
                                      .also = {"pci:2", "pci:3"},
                                      .verdict = Verdict::Accepted}}};
    EXPECT_EQ(candidates_text(decision, {}, Screen{.is_unicode = false}),
              "\nCandidates\n"
              "  +  cuda  pci:1 and 2 more  can be used\n");
}

/// As the engine does, all verbs find applications in the folder of --applications and among the
/// administrator's data files.
TEST(KnownApplications, AreFromAllFolders) {
    const support::TemporaryFolder folder;
    const std::filesystem::path root = folder.path();
    const auto own = root / "etc/gpuprobe/knowledge/applications";
    const auto given = root / "given";
    std::filesystem::create_directories(own);
    std::filesystem::create_directories(given);
    const auto write = [](const std::filesystem::path& place, const std::string& name) {
        std::ofstream{place / (name + ".json")}
            << R"({"schema":"gpuprobe.application/1","name":")" << name
            << R"(","description":"","selection":{"backends":["cuda","cpu"],"cpu":"last",)"
            << R"("integrated":"always","strict":true}})";
    };
    write(own, "mine");
    write(given, "yours");
    const auto known = known_applications(
        {.application_folders = {given.string()}, .knowledge_root = root.string()});
    for (const auto* name : {"mine", "yours", "ollama"})
        EXPECT_TRUE(known.selection(name)) << name;
    EXPECT_FALSE(known_applications({}).selection("mine"));
}

}  // namespace choice_test
}  // namespace gpuprobe
