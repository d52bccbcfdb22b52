// SPDX-License-Identifier: Apache-2.0
#include "policy/assumptions.h"

#include <gtest/gtest.h>

#include "policy/recommend.h"
#include "policy/select.h"
#include "policy/term.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace assumptions_test {

/// A machine about which almost nothing is known, with an NVIDIA and an AMD GPU.
Report machine() {
    Report report;
    report.host.kernel = "6.8.0-45-generic";
    Gpu nvidia;
    nvidia.id = "pci:0000:01:00.0";
    nvidia.vendor = "nvidia";
    Gpu amd;
    amd.id = "pci:0000:02:00.0";
    amd.vendor = "amd";
    amd.architecture.gfx_target = "gfx1100";
    report.gpus = {nvidia, amd};
    return report;
}

Truth holds_for(const Report& report, std::string_view term, const Gpu* gpu = nullptr) {
    return holds(*fact_term(term_text(term)), Facts{{.report = report, .gpu = gpu}});
}

TEST(Assumptions, ReplaceUnknownFactsOfTheHost) {
    EXPECT_EQ(holds_for(machine(), "glibc>=2.28"), Truth::Unknown);
    const auto report = assuming(machine(), {"glibc=2.39", "cpu-feature=avx2|fma"});
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_EQ(holds_for(*report, "glibc>=2.28"), Truth::True);
    EXPECT_EQ(holds_for(*report, "glibc>=2.40"), Truth::False);
    EXPECT_EQ(holds_for(*report, "cpu-feature=fma"), Truth::True);
    EXPECT_EQ(holds_for(*report, "libc=glibc"), Truth::True) << "follows from glibc";
    EXPECT_EQ(holds_for(*report, "kernel>=6.8"), Truth::True) << "is as it was";
    EXPECT_EQ(holds_for(*report, "wsl"), Truth::False) << "is as it was";
}

TEST(Assumptions, ReplaceUnknownFactsOfEveryGpuThatCanHaveThem) {
    const auto report = assuming(machine(), {"compute-capability=9.0", "memory=24GB"});
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_EQ(holds_for(*report, "compute-capability>=8.0", &report->gpus[0]), Truth::True);
    EXPECT_EQ(holds_for(*report, "compute-capability>=8.0", &report->gpus[1]), Truth::False)
        << "an AMD GPU has none";
    for (const auto& gpu : report->gpus)
        EXPECT_EQ(holds_for(*report, "memory>=20GB", &gpu), Truth::True);
    EXPECT_EQ(holds_for(*report, "memory>=20GB"), Truth::False) << "the host is no GPU";
}

TEST(Assumptions, ApplyToFactsThatAreDerivedFromThem) {
    const auto report = assuming(machine(), {"driver=580.65"});
    ASSERT_TRUE(report);
    EXPECT_EQ(holds_for(*report, "cuda>=13.0", &report->gpus[0]), Truth::True);
}

TEST(Assumptions, SetThePlatform) {
    const auto report = assuming(machine(), {"platform=linux-arm64"});
    ASSERT_TRUE(report);
    EXPECT_EQ(holds_for(*report, "arch=aarch64"), Truth::True);
    EXPECT_EQ(holds_for(*report, "os=linux"), Truth::True);
}

TEST(Assumptions, MayRepeatKnownFacts) {
    EXPECT_TRUE(assuming(machine(), {"kernel=6.8.0", "gfx=gfx1100"}));
}

/// The caller may install packages with a different Python than the machine's Python.
TEST(Assumptions, ReplaceAPythonThatIsKnown) {
    auto known = machine();
    known.host.python = "3.11";
    const auto report = assuming(known, {"python=3.13"});
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_EQ(holds_for(known, "python>=3.12"), Truth::False);
    EXPECT_EQ(holds_for(*report, "python>=3.12"), Truth::True);
}

struct BadRow {
    const char* name;
    const char* assumption;
    const char* problem;
};

class BadAssumption : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadAssumption, IsRefused) {
    const auto report = assuming(machine(), {GetParam().assumption});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::InvalidRequest);
    EXPECT_EQ(report.error().text, std::string{"assume: "} + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadAssumption,
    ::testing::Values(
        BadRow{"Empty", "", "expected a fact and its value, such as glibc=2.39"},
        BadRow{"NoValue", "glibc=", "expected a fact and its value, such as glibc=2.39"},
        BadRow{"NoEquation", "glibc>=2.39", "expected a fact and its value, such as glibc=2.39"},
        BadRow{"UnknownFact", "glib=2.39", "glib: no such fact; did you mean 'glibc'?"},
        BadRow{"NoVersion", "glibc=new", "glibc: expected a version like 1.2"},
        BadRow{"OfABackend", "fp16=true", "fp16: a fact about a backend cannot be assumed"},
        BadRow{"PythonWithAPatch", "python=3.12.4",
               "python: expected a Python version such as 3.12"},
        BadRow{"SeveralValues", "libc=glibc|musl", "libc: expected one value"},
        BadRow{"Pattern", "gfx=gfx11*", "gfx: expected one value"},
        BadRow{"OtherKernel", "kernel=5.4", "kernel=5.4: this machine has 6.8.0-45-generic"},
        BadRow{"OtherTarget", "gfx=gfx1030", "gfx=gfx1030: pci:0000:02:00.0 has gfx1100"},
        BadRow{"OtherVendor", "vendor=intel", "vendor=intel: pci:0000:01:00.0 has nvidia"},
        BadRow{"OnNoGpu", "intel-ip=20.1.0", "intel-ip=20.1.0: no GPU here can have this fact"}),
    support::case_name);

TEST(AssumptionsOfARequest, AreAListOfDifferentFacts) {
    for (const auto* text :
         {R"({"assume":["glibc=2.39","driver=550"]})", R"({"assume":"glibc=2.39,driver=550"})"}) {
        const auto request = *parse_json(text, kib(1));
        const auto selects = select_request_from(request);
        const auto recommends = recommend_request_from(request);
        ASSERT_TRUE(selects && recommends);
        EXPECT_EQ(assumed_values(selects->assume),
                  (std::map<std::string, std::string>{{"driver", "550"}, {"glibc", "2.39"}}));
        EXPECT_EQ(selects->assume, recommends->assume);
    }
    for (const auto* text : {R"({"assume":["glibc=2.39","glibc=2.40"]})", R"({"assume":["glibc"]})",
                             R"({"assume":{"glibc":"2.39"}})", R"({"assume":[""]})"})
        EXPECT_FALSE(select_request_from(*parse_json(text, kib(1)))) << text;
}

}  // namespace assumptions_test
}  // namespace gpuprobe
