// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/manifest_reading.h"
#include "policy/term.h"
#include "support/case_name.h"

/// Tests of src/policy/requirement_reading.cpp, which converts `requires` and `advises` of a
/// manifest to terms.
namespace gpuprobe {
namespace requirement_reading_test {

Value json(std::string_view text) {
    auto value = parse_json(text, kib(16));
    EXPECT_TRUE(value) << text;
    return value ? *value : Value{};
}

Requirements requirements_of(std::string_view text) {
    Requirements read;
    const auto problem = read_requirements(json(text), read);
    EXPECT_EQ(problem.text(), "") << text;
    return read;
}

/// The sign of the relation, or a word if the relation has no sign.
std::string sign_of(Relation relation) {
    switch (relation) {
        case Relation::Never:
            return " never";
        case Relation::Is:
            return "=";
        case Relation::AtLeast:
            return ">=";
        case Relation::Within:
            return " within";
        case Relation::Runs:
            return " runs";
        case Relation::DriverOf:
            return " driver";
        case Relation::HasAll:
            return " has";
        default:
            return " other";
    }
}

/// "glibc_min>=, libc=": the names of terms with their relations.
std::string line_of(const Conjunction& terms) {
    std::string line;
    for (const auto& term : terms)
        line += (line.empty() ? "" : ", ") + term.name + sign_of(term.relation);
    return line;
}

/// The terms of the host, the terms of each alternative, and the unknown members.
std::string line_of(const Requirements& read) {
    std::string line = line_of(read.host);
    for (const auto& device : read.devices)
        line += " | " + line_of(device);
    for (const auto& name : read.unsupported)
        line += " ! " + name;
    return line;
}

// Terms -------------------------------------------------------------------------------------------

struct GoodRow {
    const char* name;
    const char* json;
    const char* terms;
};
class RequirementTerms : public ::testing::TestWithParam<GoodRow> {};

TEST_P(RequirementTerms, BecomesTerms) {
    EXPECT_EQ(line_of(requirements_of(GetParam().json)), GetParam().terms);
}

INSTANTIATE_TEST_SUITE_P(
    OfTheHost,
    RequirementTerms,
    ::testing::Values(
        GoodRow{"Nothing", "{}", ""},
        GoodRow{"Libc", R"({"host":{"libc":"musl"}})", "libc="},
        GoodRow{"StaticNeedsNoLibc", R"({"host":{"libc":"static"}})", ""},
        GoodRow{"Glibc", R"({"host":{"glibc_min":"2.31"}})", "glibc_min>="},
        GoodRow{"Kernel", R"({"host":{"kernel_min":"5.15"}})", "kernel_min>="},
        GoodRow{"Level", R"({"host":{"cpu_level_min":"x86-64-v3"}})", "cpu_level_min>="},
        GoodRow{"Features", R"({"host":{"cpu_features":["avx2"]}})", "cpu_features has"},
        GoodRow{"Libraries", R"({"host":{"libs":["libgomp.so.1"]}})", "libs has"},
        GoodRow{"Python", R"({"host":{"python_max":"3.14","python_min":"3.10"}})",
                "python_max other, python_min>="},
        GoodRow{"Tegra", R"({"host":{"l4t":"R36"}})", "l4t="},
        GoodRow{"Memory", R"({"host":{"memory_min_mib":1024}})", "memory_min_mib>="},
        GoodRow{"Where", R"({"host":{"where":["kernel<6.17","glibc>=2.38 or libc=musl"]}})",
                "kernel<6.17 other, glibc>=2.38 or libc=musl other"},
        GoodRow{"WhereOfANewerManifest", R"({"host":{"where":["qubits>=2"]}})", "qubits>=2 never"},
        GoodRow{"Private", R"({"host":{"x-note":[1]},"x-own":{}})", ""}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    OfADevice,
    RequirementTerms,
    ::testing::Values(
        GoodRow{"AnyGpuThatIsNotVirtual", R"({"device":{}})", " | kinds="},
        GoodRow{"Backend", R"({"device":{"backend":"cuda"}})", " | backend=, kinds="},
        GoodRow{"Vendor", R"({"device":{"vendor":["amd"]}})", " | vendor=, kinds="},
        GoodRow{"Kinds", R"({"device":{"kinds":["virtual"]}})", " | kinds="},
        GoodRow{"Where", R"({"device":{"where":["driver<=580.95 or unknown"]}})",
                " | kinds=, driver<=580.95 or unknown other"},
        GoodRow{"Driver", R"({"device":{"driver_min":"550.54"}})", " | kinds=, driver_min>="},
        GoodRow{"Cuda", R"({"device":{"cuda":{"toolkit":"12.4","sass":["9.0"]}}})",
                " | kinds=, cuda.driver driver, cuda.code runs"},
        GoodRow{"CudaApi", R"({"device":{"cuda_api":{"min":"12.0","below":"13.0"}}})",
                " | kinds=, cuda_api within"},
        GoodRow{"Gfx", R"({"device":{"gfx":["gfx1100"]}})", " | kinds=, gfx runs"},
        GoodRow{"Rocm", R"({"device":{"rocm":{"min":"6.0","max":"6.4"}}})",
                " | kinds=, rocm within"},
        GoodRow{"Vulkan",
                R"({"device":{"vulkan":{"extensions":["VK_KHR_16bit_storage"],"api_min":"1.2"}}})",
                " | kinds=, vulkan>=, vulkan has"},
        GoodRow{"Memory", R"({"device":{"vram_min_mib":8192}})", " | kinds=, vram_min_mib>="},
        GoodRow{"Alternatives", R"({"device":[{"vendor":["amd"]},{"gfx":["gfx906"]}]})",
                " | vendor=, kinds= | kinds=, gfx runs"}),
    support::case_name);

// With a manifest of a newer version, only variants whose requirements are unknown to this program
// are rejected.
INSTANTIATE_TEST_SUITE_P(
    OfANewerManifest,
    RequirementTerms,
    ::testing::Values(
        GoodRow{"HostPredicate", R"({"host":{"selinux":true,"libc":"glibc"}})",
                "selinux never, libc="},
        GoodRow{"DevicePredicate", R"({"device":{"tensor_cores":4}})",
                " | tensor_cores never, kinds="},
        GoodRow{"Libc", R"({"host":{"libc":"bionic"}})", "libc=bionic never"},
        GoodRow{"Level", R"({"host":{"cpu_level_min":"x86-64-v5"}})",
                "cpu_level_min=x86-64-v5 never"},
        GoodRow{"Backend", R"({"device":{"backend":"metal"}})", " | backend=metal never, kinds="},
        GoodRow{"Vendors", R"({"device":{"vendor":["zhaoxin","via"]}})",
                " | vendor=zhaoxin,via never, vendor=, kinds="},
        GoodRow{"OneOfTwoVendors", R"({"device":{"vendor":["zhaoxin","amd"]}})",
                " | vendor=, kinds="},
        GoodRow{"CudaMember", R"({"device":{"cuda":{"toolkit":"12.4","lto":["9.0"]}}})",
                " | cuda.lto never, kinds=, cuda.driver driver, cuda.code runs"},
        GoodRow{"VulkanMember", R"({"device":{"vulkan":{"profile":"roadmap"}}})",
                " | vulkan.profile never, kinds="},
        GoodRow{"RangeMember", R"({"device":{"rocm":{"below":"7.0"}}})",
                " | rocm.below never, kinds=, rocm within"},
        GoodRow{"Member", R"({"network":{},"display":{}})", " ! display ! network"},
        GoodRow{"Scope", R"({"scope":"half"})", " ! scope=half"}),
    support::case_name);

// Problems ----------------------------------------------------------------------------------------

struct BadRow {
    const char* name;
    const char* json;
    const char* problem;
};
class BadRequirement : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadRequirement, IsRefusedWithItsPath) {
    Requirements read;
    EXPECT_EQ(read_requirements(json(GetParam().json), read).text(), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadRequirement,
    ::testing::Values(
        BadRow{"NoObject", "[]", "expected object, found array"},
        BadRow{"HostIsNoObject", R"({"host":1})", "host: expected object, found integer"},
        BadRow{"DeviceIsNoObject", R"({"device":1})", "device: expected object, found integer"},
        BadRow{"NoAlternatives", R"({"device":[]})", "device: needs 1 to 16 alternatives"},
        BadRow{"SecondAlternative", R"({"device":[{},{"gfx":1}]})",
               "device[1].gfx: expected array, found integer"},
        BadRow{"LibcIsNoLabel", R"({"host":{"libc":"g libc"}})",
               "host.libc: expected glibc, musl or static"},
        BadRow{"Version", R"({"host":{"glibc_min":"2.x"}})",
               "host.glibc_min: expected a version of one to four numbers"},
        BadRow{"PythonOfOneNumber", R"({"host":{"python_min":"3"}})",
               "host.python_min: expected a Python version such as 3.12"},
        BadRow{"PythonWithAPatch", R"({"host":{"python_max":"3.12.1"}})",
               "host.python_max: expected a Python version such as 3.12"},
        BadRow{"PythonAsATag", R"({"host":{"python_min":"cp312"}})",
               "host.python_min: expected a Python version such as 3.12"},
        BadRow{"TegraWithoutR", R"({"host":{"l4t":"36"}})",
               "host.l4t: expected a release of Jetson Linux such as R36"},
        BadRow{"TegraWithoutNumber", R"({"host":{"l4t":"R"}})",
               "host.l4t: expected a release of Jetson Linux such as R36"},
        BadRow{"TegraTooLong", R"({"host":{"l4t":"R1000"}})",
               "host.l4t: expected a release of Jetson Linux such as R36"},
        BadRow{"MemoryOverTheLimit", R"({"host":{"memory_min_mib":1099511627777}})",
               "host.memory_min_mib: number out of range"},
        BadRow{"MemoryBelowZero", R"({"device":{"vram_min_mib":-1}})",
               "device.vram_min_mib: expected non-negative integer, found integer"},
        BadRow{"FeatureIsNoText", R"({"host":{"cpu_features":["avx",2]}})",
               "host.cpu_features[1]: expected string, found integer"},
        BadRow{"VendorIsNoLabel", R"({"device":{"vendor":["amd","a b"]}})",
               "device.vendor[1]: unknown word"},
        BadRow{"ApiWithoutBackend", R"({"device":{"backend":"nvml"}})",
               "device.backend: expected one of cuda, hip, level_zero, opencl, vulkan"},
        BadRow{"CudaWithoutToolkit", R"({"device":{"cuda":{"sass":["9.0"]}}})",
               "device.cuda.toolkit: missing"},
        BadRow{"CubinWithPtxVersion",
               R"({"device":{"cuda":{"toolkit":"12.4","sass":["9.0@8.1"]}}})",
               "device.cuda.sass: a cubin has no PTX version"},
        BadRow{"Capability", R"({"device":{"cuda":{"toolkit":"12.4","ptx":["sm_90"]}}})",
               "device.cuda.ptx[0]: expected a compute capability such as 9.0"},
        BadRow{"WhereOfAGpuAboutTheHost", R"({"host":{"where":["kernel>=6","driver>=1"]}})",
               "host.where[1]: expected a requirement about the host"},
        BadRow{"WhereOfABackend", R"({"device":{"where":["fp16"]}})",
               "device.where[0]: this requirement is about one backend on a GPU, but a variant can "
               "have several backends"},
        BadRow{"WhereIsNoList", R"({"host":{"where":"kernel>=6"}})",
               "host.where: expected array, found string"},
        BadRow{"Gfx", R"({"device":{"gfx":["navi"]}})",
               "device.gfx[0]: expected a gfx target such as gfx1100"},
        BadRow{"NoGpus", R"({"gpus_min":0})", "gpus_min: not a number from 1 to 64"},
        BadRow{"ScopeIsNoLabel", R"({"scope":"a b"})", "scope: expected 'any' or 'all'"}),
    support::case_name);

// Values and order --------------------------------------------------------------------------------

const Term& term_named(const Conjunction& terms, std::string_view name) {
    const auto found = std::ranges::find(terms, name, &Term::name);
    EXPECT_NE(found, terms.end()) << name;
    return *found;
}

TEST(Requirements, KeepTheValuesOfThePredicates) {
    const auto read = requirements_of(
        R"({"host":{"cpu_level_min":"x86-64-v3","memory_min_mib":2},"scope":"all",
            "device":{"backend":"cuda","cuda":{"toolkit":"12.4","min_driver":"550","ptx":["8.0"],
                      "exact":true},"cuda_api":{"min":"12.0","below":"13.0"}}})");
    EXPECT_EQ(read.scope, VariantScope::All);
    EXPECT_EQ(term_named(read.host, "cpu_level_min").need, TermNeed{Version{{3}}});
    EXPECT_EQ(term_named(read.host, "memory_min_mib").need, TermNeed{mib(2)});
    const auto& device = read.devices.at(0);
    EXPECT_EQ(term_named(device, "backend").need, TermNeed{Api::Cuda});
    const auto driver = std::get<CudaDriverNeed>(term_named(device, "cuda.driver").need);
    EXPECT_EQ(driver.toolkit, (Version{{12, 4}}));
    EXPECT_EQ(driver.min_driver, Version{{550}});
    const auto code = std::get<CudaKernels>(term_named(device, "cuda.code").need);
    EXPECT_EQ(code.toolkit, (Version{{12, 4}}));
    EXPECT_EQ(code.sass, std::nullopt);
    ASSERT_TRUE(code.ptx);
    EXPECT_EQ(code.ptx->size(), 1U);
    EXPECT_TRUE(code.exact);
    const auto range = std::get<VersionRange>(term_named(device, "cuda_api").need);
    EXPECT_EQ(range.min, (Version{{12, 0}}));
    EXPECT_EQ(range.below, (Version{{13, 0}}));
    EXPECT_EQ(range.max, std::nullopt);
}

TEST(Requirements, LeaveOutVirtualGpusByDefault) {
    const auto kinds = [](const char* text) {
        return std::get<std::vector<std::string>>(
            term_named(requirements_of(text).devices.at(0), "kinds").need);
    };
    EXPECT_EQ(kinds(R"({"device":{}})"),
              (std::vector<std::string>{"discrete", "integrated", "tegra"}));
    EXPECT_EQ(kinds(R"({"device":{"kinds":["virtual"]}})"), std::vector<std::string>{"virtual"});
    EXPECT_TRUE(kinds(R"({"device":{"kinds":["quantum"]}})").empty());
}

TEST(Requirements, OfRocmIncludeTheUpperBound) {
    const auto read = requirements_of(R"({"device":{"rocm":{"max":"6.4"}}})");
    const auto range = std::get<VersionRange>(term_named(read.devices.at(0), "rocm").need);
    EXPECT_EQ(range.max, (Version{{6, 4}}));
    EXPECT_EQ(range.below, std::nullopt);
}

TEST(Requirements, DoNotDependOnTheOrderOfTheKeys) {
    const auto one = requirements_of(
        R"({"host":{"kernel_min":"6.1","new":1,"libc":"glibc","glibc_min":"2.31"},
            "device":{"vram_min_mib":1,"kinds":["discrete"],"vendor":["amd"]}})");
    const auto other = requirements_of(
        R"({"device":{"vendor":["amd"],"kinds":["discrete"],"vram_min_mib":1},
            "host":{"glibc_min":"2.31","libc":"glibc","new":1,"kernel_min":"6.1"}})");
    EXPECT_EQ(one.host, other.host);
    EXPECT_EQ(one.devices, other.devices);
    EXPECT_EQ(one.host.front().relation, Relation::Never);
}

TEST(Requirements, TakeSixteenAlternativesAndNoMore) {
    const auto with = [](int count) {
        std::string list;
        for (int i = 0; i < count; ++i)
            list += (i == 0 ? "{}" : ",{}");
        Requirements read;
        return read_requirements(json(R"({"device":[)" + list + "]}"), read).text();
    };
    EXPECT_EQ(with(16), "");
    EXPECT_EQ(with(17), "device: needs 1 to 16 alternatives");
}

}  // namespace requirement_reading_test
}  // namespace gpuprobe
