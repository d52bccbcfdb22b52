// SPDX-License-Identifier: Apache-2.0
#include "policy/term.h"

#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace term_test {

using namespace testing_variants;

/// A manifest of one variant with these requirements.
Manifest needing(const std::string& requirements, const std::string& on_unknown = "reject") {
    auto manifest = parse_manifest(R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{
        "linux-x86_64":{"variants":{"v":{"on_unknown":")" +
                                   on_unknown + R"(","requires":)" + requirements + "}}}}}");
    EXPECT_TRUE(manifest) << manifest.error().text;
    return manifest ? std::move(manifest).value() : Manifest{};
}

/// Accepted means true, and rejected means false. For an unknown term, the variant's settings
/// decide between rejected and uncertain.
Truth truth_on(const Report& report, const std::string& requirements) {
    const auto strict = recommend(needing(requirements), {}, report, rules());
    const auto lax = recommend(needing(requirements, "accept"), {}, report, rules());
    if (strict.candidates.empty() || lax.candidates.empty()) {
        ADD_FAILURE() << "no candidate";
        return Truth::False;
    }
    if (strict.candidates[0].verdict == Verdict::Accepted)
        return Truth::True;
    return lax.candidates[0].verdict == Verdict::Uncertain ? Truth::Unknown : Truth::False;
}

/// RTX 4090, driver 580.65.06 with CUDA 13.0, glibc 2.39, kernel 6.8.
Report nvidia() {
    return machine("G02");
}
/// RX 7900 XTX, ROCm 7.2.
Report amd() {
    return machine("G09");
}
/// Arc A380, IP 12.56.5.
Report intel() {
    return machine("G38");
}

struct Row {
    const char* name;
    Report (*machine)();
    const char* requirements;
    Truth wanted;
    void (*change)(Report& report) = [](Report&) {};
};
class Requirement : public ::testing::TestWithParam<Row> {};

TEST_P(Requirement, HoldsOrNotOrIsNotKnown) {
    auto report = GetParam().machine();
    GetParam().change(report);
    EXPECT_EQ(truth_on(report, GetParam().requirements), GetParam().wanted)
        << GetParam().requirements;
}

INSTANTIATE_TEST_SUITE_P(
    Host,
    Requirement,
    ::testing::Values(
        Row{"Libc", nvidia, R"({"host":{"libc":"glibc"}})", Truth::True},
        Row{"OtherLibc", nvidia, R"({"host":{"libc":"musl"}})", Truth::False},
        Row{"LibcUnknown", nvidia, R"({"host":{"libc":"glibc"}})", Truth::Unknown,
            [](Report& report) { report.host.libc = {}; }},
        Row{"StaticRunsAnywhere", nvidia, R"({"host":{"libc":"static"}})", Truth::True,
            [](Report& report) { report.host.libc = {}; }},
        Row{"GlibcExactly", nvidia, R"({"host":{"glibc_min":"2.39"}})", Truth::True},
        Row{"GlibcOneNewer", nvidia, R"({"host":{"glibc_min":"2.40"}})", Truth::False},
        Row{"GlibcIsNumeric", nvidia, R"({"host":{"glibc_min":"2.4"}})", Truth::True},
        Row{"GlibcOnMusl", nvidia, R"({"host":{"glibc_min":"2.17"}})", Truth::False,
            [](Report& report) { report.host.libc = {.name = "musl", .version = "1.2.5"}; }},
        Row{"GlibcUnknown", nvidia, R"({"host":{"glibc_min":"2.17"}})", Truth::Unknown,
            [](Report& report) { report.host.libc.version.reset(); }},
        Row{"KernelExactly", nvidia, R"({"host":{"kernel_min":"6.8"}})", Truth::True},
        Row{"KernelWithSuffix", nvidia, R"({"host":{"kernel_min":"6.8.1"}})", Truth::False,
            [](Report& report) { report.host.kernel = "6.8.0-45-generic"; }},
        Row{"KernelIsNumeric", nvidia, R"({"host":{"kernel_min":"6.10"}})", Truth::False},
        Row{"KernelUnknown", nvidia, R"({"host":{"kernel_min":"5.4"}})", Truth::Unknown,
            [](Report& report) { report.host.kernel.reset(); }},
        Row{"KernelBelow", nvidia, R"({"host":{"where":["kernel<6.17"]}})", Truth::True},
        Row{"KernelNotBelow", nvidia, R"({"host":{"where":["kernel<6.8"]}})", Truth::False},
        Row{"EitherLibc", nvidia, R"({"host":{"where":["glibc>=2.40 or libc=musl"]}})", Truth::True,
            [](Report& report) { report.host.libc = {.name = "musl", .version = "1.2.5"}; }},
        Row{"NeitherLibc", nvidia, R"({"host":{"where":["glibc>=2.40 or libc=musl"]}})",
            Truth::False},
        Row{"EitherIsUnknown", nvidia, R"({"host":{"where":["glibc>=2.40 or kernel>=6"]}})",
            Truth::Unknown, [](Report& report) { report.host.kernel.reset(); }},
        Row{"CpuLevel", nvidia, R"({"host":{"cpu_level_min":"x86-64-v3"}})", Truth::True},
        Row{"CpuLevelHigher", nvidia, R"({"host":{"cpu_level_min":"x86-64-v4"}})", Truth::False},
        Row{"CpuLevelUnknown", nvidia, R"({"host":{"cpu_level_min":"x86-64-v1"}})", Truth::Unknown,
            [](Report& report) { report.host.cpu = {}; }},
        Row{"CpuFeatures", nvidia, R"({"host":{"cpu_features":["avx2","fma"]}})", Truth::True},
        Row{"CpuFeatureMissing", nvidia, R"({"host":{"cpu_features":["avx2","amx_int8"]}})",
            Truth::False},
        Row{"CpuFeatureByAnotherName", nvidia, R"({"host":{"cpu_features":["SSE3","lzcnt"]}})",
            Truth::True,
            [](Report& report) {
                report.host.cpu.features = {"pni", "abm"};
            }},
        Row{"Libs", nvidia, R"({"host":{"libs":["libvulkan.so.1","libcuda.so.1"]}})", Truth::True},
        Row{"LibMissing", nvidia, R"({"host":{"libs":["libvulkan.so.1","librocblas.so.5"]}})",
            Truth::False},
        Row{"LibOfAnotherMajor", nvidia, R"({"host":{"libs":["libcuda.so.2"]}})", Truth::False},
        Row{"LibThatNobodyLooksFor", nvidia, R"({"host":{"libs":["libfrobnicate.so.1"]}})",
            Truth::Unknown},
        Row{"LibsUnknown", nvidia, R"({"host":{"libs":["libcuda.so.1"]}})", Truth::Unknown,
            [](Report& report) { report.host.libraries.reset(); }},
        Row{"PythonExactly", nvidia, R"({"host":{"python_min":"3.11","python_max":"3.11"}})",
            Truth::True, [](Report& report) { report.host.python = "3.11"; }},
        Row{"PythonOneOlder", nvidia, R"({"host":{"python_min":"3.12"}})", Truth::False,
            [](Report& report) { report.host.python = "3.11"; }},
        Row{"PythonIsNumeric", nvidia, R"({"host":{"python_min":"3.9"}})", Truth::True,
            [](Report& report) { report.host.python = "3.11"; }},
        Row{"PythonOneNewer", nvidia, R"({"host":{"python_max":"3.10"}})", Truth::False,
            [](Report& report) { report.host.python = "3.11"; }},
        Row{"PythonUnknown", nvidia, R"({"host":{"python_min":"3.9"}})", Truth::Unknown},
        Row{"NoJetson", nvidia, R"({"host":{"l4t":"R36"}})", Truth::False},
        Row{"Jetson", nvidia, R"({"host":{"l4t":"R36"}})", Truth::True,
            [](Report& report) { report.host.l4t = "R36"; }},
        Row{"OtherJetson", nvidia, R"({"host":{"l4t":"R36"}})", Truth::False,
            [](Report& report) { report.host.l4t = "R38"; }},
        Row{"MemoryExactly", nvidia, R"({"host":{"memory_min_mib":1024}})", Truth::True,
            [](Report& report) { report.host.memory.total = mib(1024); }},
        Row{"MemoryOneByteShort", nvidia, R"({"host":{"memory_min_mib":1024}})", Truth::False,
            [](Report& report) { report.host.memory.total = Bytes{mib(1024).count - 1}; }},
        Row{"MemoryUnknown", nvidia, R"({"host":{"memory_min_mib":1024}})", Truth::Unknown}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Device,
    Requirement,
    ::testing::Values(
        Row{"Backend", nvidia, R"({"device":{"backend":"cuda"}})", Truth::True},
        Row{"BackendOfAnotherVendor", nvidia, R"({"device":{"backend":"hip"}})", Truth::False},
        Row{"BackendUnknown", nvidia, R"({"device":{"backend":"cuda"}})", Truth::Unknown,
            [](Report& report) { report.gpus[0].backends["cuda"].usable.reset(); }},
        Row{"BackendNotProbed", nvidia, R"({"device":{"backend":"opencl"}})", Truth::Unknown},
        Row{"Vendor", amd, R"({"device":{"vendor":["intel","amd"]}})", Truth::True},
        Row{"OtherVendor", amd, R"({"device":{"vendor":["nvidia"]}})", Truth::False},
        Row{"VendorThatHasNoWord", amd, R"({"device":{"vendor":["other"]}})", Truth::True,
            [](Report& report) { report.gpus[0].vendor = "vivante"; }},
        Row{"VendorUnknown", amd, R"({"device":{"vendor":["amd"]}})", Truth::Unknown,
            [](Report& report) { report.gpus[0].vendor.reset(); }},
        Row{"Kind", nvidia, R"({"device":{"kinds":["discrete"]}})", Truth::True},
        Row{"OtherKind", nvidia, R"({"device":{"kinds":["integrated","tegra"]}})", Truth::False},
        Row{"VirtualIsNotAmongTheUsualKinds", nvidia, R"({"device":{}})", Truth::False,
            [](Report& report) { report.gpus[0].kind = GpuKind::Virtual; }},
        Row{"VirtualWhereItIsNamed", nvidia, R"({"device":{"kinds":["virtual"]}})", Truth::True,
            [](Report& report) { report.gpus[0].kind = GpuKind::Virtual; }},
        Row{"KindUnknown", nvidia, R"({"device":{}})", Truth::Unknown,
            [](Report& report) { report.gpus[0].kind = GpuKind::Unknown; }},
        Row{"DisplayAdaptersDoNotCount", nvidia, R"({"device":{}})", Truth::False,
            [](Report& report) { report.gpus[0].kind = GpuKind::DisplayOnly; }},
        Row{"DriverExactly", nvidia, R"({"device":{"driver_min":"580.65.06"}})", Truth::True},
        Row{"DriverOneNewer", nvidia, R"({"device":{"driver_min":"580.65.07"}})", Truth::False},
        Row{"DriverShownByItsCuda", nvidia, R"({"device":{"driver_min":"580"}})", Truth::True,
            [](Report& report) { report.gpus[0].driver = {}; }},
        Row{"DriverUnknown", nvidia, R"({"device":{"driver_min":"580"}})", Truth::Unknown,
            [](Report& report) {
                report.gpus[0].driver = {};
                report.runtimes.erase("cuda");
            }},
        Row{"DriverOfAnotherVendor", nvidia, R"({"device":{"driver_min":"1"}})", Truth::False,
            [](Report& report) { report.gpus[0].driver = {.name = "nouveau", .version = "6.8"}; }},
        Row{"NoDriver", nvidia, R"({"device":{"driver_min":"1"}})", Truth::False,
            [](Report& report) {
                report.gpus[0].driver = {};
                report.gpus[0].findings = {because("no-driver")};
            }},
        Row{"DriverThatOnlyTheLibraryTells", nvidia, R"({"device":{"driver_min":"580"}})",
            Truth::True,
            [](Report& report) {
                report.gpus[0].driver = {};
                report.gpus[0].apis["nvml"].device["driver_version"] = "580.65.06";
            }},
        Row{"CudaApi", nvidia, R"({"device":{"cuda_api":{"min":"13.0","below":"14.0"}}})",
            Truth::True},
        Row{"CudaApiBelow", nvidia, R"({"device":{"cuda_api":{"below":"13.0"}}})", Truth::False},
        Row{"CudaApiOnAmd", amd, R"({"device":{"cuda_api":{"min":"1.0"}}})", Truth::False},
        Row{"CudaApiFromTheDriverWhereItWasNotAsked", nvidia,
            R"({"device":{"cuda_api":{"min":"13.0","below":"13.1"}}})", Truth::True,
            [](Report& report) { report.runtimes.erase("cuda"); }},
        Row{"CudaApiWithoutItsLibrary", nvidia, R"({"device":{"cuda_api":{"min":"1.0"}}})",
            Truth::False,
            [](Report& report) { report.runtimes["cuda"] = {.outcome = Outcome::Absent}; }},
        Row{"CudaDriverOfTooOldAKernel", nvidia, R"({"device":{"cuda":{"toolkit":"13.0"}}})",
            Truth::False,
            [](Report& report) {
                report.gpus[0].driver.version = "579.99";
                report.runtimes["cuda"].version = "12.9";
            }},
        Row{"ForwardCompatiblePackage", nvidia, R"({"device":{"cuda":{"toolkit":"13.0"}}})",
            Truth::True,
            [](Report& report) {
                report.gpus[0].driver.version = "535.54.03";
                report.runtimes["cuda"].version = "13.0";
            }},
        Row{"ForwardCompatiblePackageThatDoesNotWork", nvidia,
            R"({"device":{"cuda":{"toolkit":"13.0"}}})", Truth::False,
            [](Report& report) {
                report.gpus[0].driver.version = "535.54.03";
                report.runtimes["cuda"].version = "13.0";
                report.gpus[0].backends["cuda"].usable = false;
            }},
        Row{"ToolkitThatIsNotInTheTable", nvidia, R"({"device":{"cuda":{"toolkit":"14.0"}}})",
            Truth::False},
        Row{"ToolkitThatIsNotInTheTableOnItsDriver", nvidia,
            R"({"device":{"cuda":{"toolkit":"14.1"}}})", Truth::True,
            [](Report& report) { report.runtimes["cuda"].version = "14.0"; }},
        Row{"OwnDriverFloor", nvidia,
            R"({"device":{"cuda":{"toolkit":"13.0","min_driver":"590"}}})", Truth::False},
        Row{"CapabilityOnAmd", amd, R"({"device":{"cuda":{"toolkit":"12.0","sass":["8.9"]}}})",
            Truth::False}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    DeviceOfOtherVendors,
    Requirement,
    ::testing::Values(
        Row{"Gfx", amd, R"({"device":{"gfx":["gfx908","gfx110X"]}})", Truth::True},
        Row{"OtherGfx", amd, R"({"device":{"gfx":["gfx908"]}})", Truth::False},
        Row{"GfxUnknown", amd, R"({"device":{"gfx":["gfx1100"]}})", Truth::Unknown,
            [](Report& report) { report.gpus[0].architecture = {}; }},
        Row{"GfxOnNvidia", nvidia, R"({"device":{"gfx":["gfx1100"]}})", Truth::False},
        Row{"XnackFromOpenCl", amd, R"({"device":{"gfx":["gfx90a:xnack+"]}})", Truth::False,
            [](Report& report) {
                report.gpus[0].architecture.gfx_target = "gfx90a";
                report.gpus[0].apis["opencl"].device["device_name"] = "gfx90a:sramecc+:xnack-";
            }},
        Row{"XnackNotTold", amd, R"({"device":{"gfx":["gfx90a:xnack-"]}})", Truth::Unknown,
            [](Report& report) { report.gpus[0].architecture.gfx_target = "gfx90a"; }},
        Row{"Rocm", amd, R"({"device":{"rocm":{"min":"7.2","max":"7.2"}}})", Truth::True},
        Row{"RocmOneNewer", amd, R"({"device":{"rocm":{"min":"7.3"}}})", Truth::False},
        Row{"RocmUnknown", amd, R"({"device":{"rocm":{"min":"6.0"}}})", Truth::Unknown,
            [](Report& report) { report.runtimes["hip"].release.reset(); }},
        Row{"RocmNotInstalled", amd, R"({"device":{"rocm":{"min":"6.0"}}})", Truth::False,
            [](Report& report) { report.runtimes["hip"] = {.outcome = Outcome::Absent}; }},
        Row{"Ip", intel, R"({"device":{"level_zero":{"ip":["12.56.5"]}}})", Truth::True},
        Row{"IpByItsBase", intel, R"({"device":{"level_zero":{"ip":["12.55.8"]}}})", Truth::True},
        Row{"OtherIp", intel, R"({"device":{"level_zero":{"ip":["20.1.0"]}}})", Truth::False},
        Row{"IpUnknown", intel, R"({"device":{"level_zero":{"ip":["12.55.8"]}}})", Truth::Unknown,
            [](Report& report) { report.gpus[0].architecture = {}; }},
        Row{"VulkanLoader", intel, R"({"device":{"vulkan":{"instance_min":"1.3.275"}}})",
            Truth::True},
        Row{"VulkanLoaderOlder", intel, R"({"device":{"vulkan":{"instance_min":"1.3.276"}}})",
            Truth::False},
        Row{"VulkanApi", intel, R"({"device":{"vulkan":{"api_min":"1.3.280"}}})", Truth::True},
        Row{"VulkanApiOlder", intel, R"({"device":{"vulkan":{"api_min":"1.4"}}})", Truth::False},
        Row{"VulkanFeature", intel,
            R"({"device":{"vulkan":{"features":["storageBuffer16BitAccess"]}}})", Truth::True},
        Row{"VulkanFeatureMissing", intel,
            R"({"device":{"vulkan":{"features":["shaderFloat16"]}}})", Truth::False},
        Row{"VulkanFeatureByFlag", intel, R"({"device":{"vulkan":{"features":["shaderFloat16"]}}})",
            Truth::True,
            [](Report& report) {
                report.gpus[0].apis["vulkan"].device["features"] =
                    Value::Object{{"shaderFloat16", true}};
            }},
        Row{"VulkanFeatureByFlagMissing", intel,
            R"({"device":{"vulkan":{"features":["shaderFloat16","shaderInt8"]}}})", Truth::False,
            [](Report& report) {
                report.gpus[0].apis["vulkan"].device["features"] =
                    Value::Object{{"shaderFloat16", false}, {"shaderInt8", nullptr}};
            }},
        Row{"VulkanFeatureThatNoFlagTells", intel,
            R"({"device":{"vulkan":{"features":["shaderFloat16"]}}})", Truth::Unknown,
            [](Report& report) {
                report.gpus[0].apis["vulkan"].device["features"] =
                    Value::Object{{"shaderFloat16", nullptr}};
            }},
        Row{"VulkanFeaturesUnknown", intel,
            R"({"device":{"vulkan":{"features":["shaderFloat16"]}}})", Truth::Unknown,
            [](Report& report) { report.gpus[0].apis.clear(); }},
        Row{"VulkanExtensionsUnknown", intel,
            R"({"device":{"vulkan":{"extensions":["VK_KHR_x"]}}})", Truth::Unknown},
        Row{"MemoryExactly", amd, R"({"device":{"vram_min_mib":24560}})", Truth::True},
        Row{"MemoryOneMore", amd, R"({"device":{"vram_min_mib":24561}})", Truth::False},
        Row{"MemoryUnknown", amd, R"({"device":{"vram_min_mib":1}})", Truth::Unknown,
            [](Report& report) { report.gpus[0].memory = {}; }},
        Row{"NoGpu", amd, R"({"device":{}})", Truth::False,
            [](Report& report) { report.gpus.clear(); }},
        Row{"SecondAlternative", amd, R"({"device":[{"backend":"cuda"},{"backend":"hip"}]})",
            Truth::True},
        Row{"AllOnOneDevice", amd, R"({"device":{"backend":"hip","vendor":["nvidia"]}})",
            Truth::False},
        Row{"FalseBeatsUnknown", amd,
            R"({"host":{"memory_min_mib":1},"device":{"backend":"cuda"}})", Truth::False}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    NotSupported,
    Requirement,
    ::testing::Values(
        Row{"OfTheHost", nvidia, R"({"host":{"npu":true}})", Truth::False},
        Row{"OfADevice", nvidia, R"({"device":{"fp8":true}})", Truth::False},
        Row{"BesideHostAndDevice", nvidia, R"({"network":"fast"})", Truth::False},
        Row{"InsideCuda", nvidia, R"({"device":{"cuda":{"toolkit":"12.0","lto":true}}})",
            Truth::False},
        Row{"InsideVulkan", nvidia, R"({"device":{"vulkan":{"video":true}}})", Truth::False},
        Row{"InsideRocm", amd, R"({"device":{"rocm":{"below":"9.0"}}})", Truth::False},
        Row{"InsideLevelZero", intel, R"({"device":{"level_zero":{"tiles":2}}})", Truth::False},
        Row{"InAnotherAlternative", nvidia, R"({"device":[{"fp8":true},{"backend":"cuda"}]})",
            Truth::True},
        Row{"ForUsAlone", nvidia,
            R"({"x-note":1,"host":{"x-note":1},"device":{"x-note":1,"cuda":{"toolkit":"12.0","x-a":1}}})",
            Truth::True}),
    support::case_name);

TEST(UnsupportedPredicate, IsNamed) {
    const auto answer = recommend(needing(R"({"device":{"cuda":{"toolkit":"12.0","lto":true}}})"),
                                  {}, nvidia(), rules());
    ASSERT_EQ(answer.candidates.size(), 1U);
    ASSERT_EQ(answer.candidates[0].reasons.size(), 1U);
    const auto& reason = answer.candidates[0].reasons[0];
    EXPECT_EQ(reason.code, "unsupported-predicate");
    EXPECT_EQ(reason.detail.at("predicate"), Value{"cuda.lto"});
}

/// No release of that distribution has a newer glibc.
TEST(VariantReasons, OfGlibcOnAnotherLibraryAreOfTheLibrary) {
    auto report = machine("G02");
    report.host.libc = {.name = "musl", .version = "1.2.5"};
    const auto answer = recommend(needing(R"({"host":{"glibc_min":"2.28"}})"), {}, report, rules());
    const auto& reasons = answer.candidates.front().reasons;
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_TRUE(reasons[0].is("other-libc"));
    EXPECT_EQ(reasons[0].detail.at("want"), Value{Value::Array{Value{"glibc"}}});
    EXPECT_EQ(reasons[0].detail.at("have"), Value{"musl"});
}

/// No driver can make a build for glibc run on musl.
TEST(VariantReasons, OfABuildForOtherHostsAreNotOfTheGpu) {
    auto report = machine("G02");
    report.host.libc = {.name = "musl", .version = "1.2.5"};
    const auto needs = needing(R"({"host":{"libc":"glibc"},"device":{"driver_min":"900"}})");
    const auto answer = recommend(needs, {}, report, rules());
    ASSERT_EQ(answer.candidates.size(), 1U);
    ASSERT_EQ(answer.candidates[0].reasons.size(), 1U);
    EXPECT_TRUE(answer.candidates[0].reasons[0].is("other-libc"));
    report.host.libc = {.name = "glibc", .version = "2.36"};
    EXPECT_TRUE(
        has_reason(recommend(needs, {}, report, rules()).candidates[0].reasons, "driver-too-old"));
}

TEST(VariantReasons, OfAMissingVulkanLoaderAreNotThatItIsTooOld) {
    auto report = machine("G02");
    report.runtimes["vulkan"] = {.outcome = Outcome::Absent};
    report.gpus[0].backends["vulkan"] = {.usable = false, .reasons = {because("loader-missing")}};
    const auto needs =
        needing(R"({"device":{"backend":"vulkan","vulkan":{"instance_min":"1.2"}}})");
    const auto answer = recommend(needs, {}, report, rules());
    const auto& reasons = answer.candidates.at(0).reasons;
    EXPECT_FALSE(has_reason(reasons, "vulkan-loader-too-old"));
    EXPECT_EQ(std::ranges::count(reasons, "loader-missing", &Reason::code), 1);
}

}  // namespace term_test
}  // namespace gpuprobe
