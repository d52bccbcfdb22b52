// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "export/formats.h"
#include "report/compute_view.h"
#include "unit/export/needs.h"

namespace gpuprobe {
namespace slurm_test {

using namespace testing_fleet;

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

TEST(Slurm, CountsAnOnlyIntegratedGpu) {
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

TEST(Slurm, LeavesOutGpusWithoutANode) {
    auto missing = h200();
    missing.nodes = {{.path = "/dev/nvidia0", .accessible = false, .reason = "missing"}};
    auto divided = h200("0000:19:00.0", "1");
    divided.partitions = {{.name = "mig-1"}};
    const auto report = report_of({missing, divided});
    const auto exported = write_slurm_gres(subject_of(report));
    EXPECT_EQ(exported.text->find("File="), std::string::npos);
    EXPECT_EQ(codes(exported.left_out), (std::vector<std::string>{"no-gres", "no-gres"}));
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

TEST(SlurmQuery, AsksForWordsThatTheClusterHas) {
    const auto need = need_of(kCuda);
    const std::vector<std::string> known{"cuda",        "cuda_sm90", "cuda_sm70",
                                         "cuda_drv580", "cuda_drv9", "glibc2.36",
                                         "glibc2.31",   "x86_64",    "gpus-physical"};
    const auto query = slurm_query(*need, rules(), known);
    ASSERT_TRUE(query);
    EXPECT_EQ(query->text,
              "--constraint='cuda_sm90&cuda_drv580&gpus-physical&x86_64&glibc2.36' --gres=gpu:1\n");
    EXPECT_EQ(codes(query->weaker), std::vector<std::string>{"weaker"});
    EXPECT_EQ(query->stronger.size(), 1U);
}

TEST(SlurmQuery, FindsNothingWhereNoNodeFits) {
    EXPECT_FALSE(slurm_query(*need_of(kCuda), rules(), {"cuda_sm90", "glibc2.36", "x86_64"}));
}

TEST(SlurmQuery, ListsAllThatMayBeWithoutAList) {
    const auto text = asked("slurm", kCuda);
    EXPECT_NE(text.find("(cuda_sm75|cuda_sm80|cuda_sm90)&(cuda_drv580"), std::string::npos) << text;
    EXPECT_NE(text.find("glibc2.35|glibc2.36"), std::string::npos) << text;
}

}  // namespace slurm_test
}  // namespace gpuprobe
