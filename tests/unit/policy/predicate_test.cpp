// SPDX-License-Identifier: Apache-2.0
#include "policy/predicate.h"

#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace {

using testing::amd_card;
using testing::kFirstUuid;
using testing::nvidia_card;

/// A machine with one NVIDIA GPU (9.0, driver 580.65.06, 140 GiB) and one AMD GPU (gfx1100).
Report machine() {
    auto report = testing::report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0),
                                      amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0)});
    report.host.arch = "x86_64";
    report.host.os = "linux";
    report.host.kernel = "6.8.0-45-generic";
    report.host.libraries = {"libsycl.so.8", "libvulkan.so.1"};
    report.host.libc = {.name = "glibc", .version = "2.36"};
    report.host.cpu.level = "x86-64-v3";
    report.host.cpu.features = {"avx", "avx2"};
    report.gpus[0].driver = {.name = "nvidia", .version = "580.65.06"};
    report.gpus[0].apis["vulkan"].version = "1.3.277";
    report.gpus[0].apis["vulkan"].device["shader_float16"] = false;
    report.gpus[0].apis["vulkan"].device["storage_buffer_16bit"] = false;
    report.gpus[0].apis["vulkan"].device["max_buffer_size"] = gib(1).count;
    report.gpus[1].driver.version.reset();
    report.runtimes["level_zero"] = {.outcome = Outcome::Absent};
    report.runtimes["opencl"] = {.outcome = Outcome::Crashed};
    return report;
}

enum class On { Nvidia, Amd, None };
struct Row {
    const char* name;
    const char* predicate;
    std::optional<bool> holds;
    const char* why = "";  ///< the code, unless it holds
    On on = On::Nvidia;
    const char* backend = "cuda";
};
class Predicates : public ::testing::TestWithParam<Row> {};

TEST_P(Predicates, HoldFailOrAreNotKnown) {
    const auto& row = GetParam();
    ASSERT_EQ(predicate_problem(row.predicate), std::nullopt);
    const auto report = machine();
    FactScope scope{.report = report, .backend = row.backend, .backend_word = row.backend};
    if (row.on != On::None)
        scope.gpu = &report.gpus[row.on == On::Nvidia ? 0 : 1];
    const auto tested = test_predicate(row.predicate, scope);
    EXPECT_EQ(tested.holds, row.holds);
    EXPECT_EQ(tested.why.code, row.why);
}

constexpr auto kUnknown = std::nullopt;
INSTANTIATE_TEST_SUITE_P(
    Versions,
    Predicates,
    ::testing::Values(
        Row{"Above", "driver>=550", true},
        Row{"Equal", "driver>=580.65.06", true},
        Row{"MissingPartsAreZero", "driver>=580.65.6.0", true},
        Row{"OneBelow", "driver>=580.65.07", false, "driver-too-old"},
        Row{"NumbersAndNotText", "driver>=1000", false, "driver-too-old"},
        Row{"NoFloor", "driver<580", false, "requirement-unmet"},
        Row{"LessThan", "driver<580.65.07", true},
        Row{"Different", "driver!=580", true},
        Row{"Capability", "compute-capability>=9.0", true},
        Row{"TooSmallACapability", "compute-capability>=10.0", false, "arch-not-in-build"},
        Row{"OfAnotherVendor", "compute-capability>=1.0", false, "requirement-unmet", On::Amd},
        Row{"NotKnown", "driver>=1", kUnknown, "requirement-unknown", On::Amd},
        Row{"OfNoGpu", "driver>=1", false, "requirement-unmet", On::None},
        Row{"Kernel", "kernel>=6.8", true},
        Row{"Glibc", "glibc>=2.37", false, "requirement-unmet"},
        Row{"Level", "cpu-level>=3", true},
        Row{"ApiOfTheDevice", "vulkan>=1.3", true},
        Row{"ApiThatIsNotInstalled", "level-zero>=1.0", false, "requirement-unmet"},
        Row{"ApiThatCrashed", "opencl>=1.0", kUnknown, "requirement-unknown", On::Amd}),
    testing::case_name);

INSTANTIATE_TEST_SUITE_P(
    Words,
    Predicates,
    ::testing::Values(
        Row{"Same", "vendor=nvidia", true},
        Row{"Capitals", "vendor=NVIDIA", true},
        Row{"Other", "vendor=amd", false, "requirement-unmet"},
        Row{"OneOfSeveral", "vendor=amd|nvidia", true},
        Row{"NoneOfSeveral", "vendor!=amd|intel", true},
        Row{"BeginsLike", "gfx=gfx11*", true, "", On::Amd},
        Row{"DoesNotBeginLike", "gfx=gfx12*", false, "arch-not-in-build", On::Amd},
        Row{"NotEqualButAbsent", "gfx!=gfx1100", false, "requirement-unmet"},
        Row{"AnyWord", "vendor=*", true},
        Row{"AmongMany", "cpu-feature=avx2", true},
        Row{"NotAmongMany", "cpu-feature=avx512f", false, "requirement-unmet"},
        Row{"Library", "library=libsycl.so.8", true, "", On::None},
        Row{"LibraryOfAnyVersion", "library=libsycl.so*", true},
        Row{"OneOfTwoLibraries", "library=libsycl.so.9|libvulkan.so.1", true},
        Row{"LibraryOfAnotherVersion", "library=libsycl.so.9", false, "library-missing"},
        Row{"LibraryThatMustNotBe", "library!=libsycl.so.8", false, "requirement-unmet"},
        Row{"OfTheMachine", "vendors=amd", true, "", On::None},
        Row{"NotOfTheMachine", "vendors=intel", false, "requirement-unmet", On::None},
        Row{"Platform", "platform=linux-amd64", true, "", On::None},
        Row{"Backend", "backend=cuda", true},
        Row{"NoContainer", "container=docker", false, "requirement-unmet"}),
    testing::case_name);

INSTANTIATE_TEST_SUITE_P(
    SizesAndFlags,
    Predicates,
    ::testing::Values(
        Row{"Exactly", "memory>=140GiB", true},
        Row{"OneByteShort", "memory>=150323855361", false, "too-little-memory"},
        Row{"MoreThan", "memory>140GiB", false, "too-little-memory"},
        Row{"Decimal", "memory>=150GB", true},
        Row{"OneSize", "physical-memory>=141GiB", true},
        Row{"Buffer", "max-buffer>=1GiB", true, "", On::Nvidia, "vulkan"},
        Row{"BufferOfAnApiThatDoesNotTell", "max-buffer>=1", kUnknown, "requirement-unknown"},
        Row{"FlagFromTheCapability", "fp16", true},
        Row{"FlagOfTheApi", "fp16", false, "requirement-unmet", On::Nvidia, "vulkan"},
        Row{"NegatedFlag", "fp16=false", true, "", On::Nvidia, "vulkan"},
        Row{"FlagNotTold", "int8", kUnknown, "requirement-unknown", On::Nvidia, "vulkan"},
        Row{"HalvesInStorage", "storage-16bit", false, "requirement-unmet", On::Nvidia, "vulkan"},
        Row{"HalvesNotTold", "storage-16bit", kUnknown, "requirement-unknown", On::Amd, "vulkan"},
        Row{"NeverVerified", "verified", false, "requirement-unmet"}),
    testing::case_name);

INSTANTIATE_TEST_SUITE_P(
    Alternatives,
    Predicates,
    ::testing::Values(Row{"KnownNotToDo", "storage-16bit or unknown", false, "requirement-unmet"},
                      Row{"NotKnownWhereThatWillDo", "storage-16bit or unknown", true, "", On::Amd},
                      Row{"KnownToDo", "driver>=550 or unknown", true},
                      Row{"First", "driver>=570 or compute-capability>=99", true},
                      Row{"Second", "compute-capability>=99 or driver>=570", true},
                      Row{"None", "compute-capability>=99 or driver>=600", false, "driver-too-old"},
                      Row{"FalseOrUnknown", "vendor=nvidia or driver>=1", kUnknown,
                          "requirement-unknown", On::Amd},
                      Row{"UnknownOrFalse", "driver>=1 or vendor=nvidia", kUnknown,
                          "requirement-unknown", On::Amd},
                      Row{"UnknownOrTrue", "driver>=1 or vendor=amd", true, "", On::Amd}),
    testing::case_name);

TEST(Libraries, AreUnknownWhereNobodyLookedAndMissingWhereThereAreNone) {
    auto report = machine();
    const FactScope scope{.report = report, .backend = "sycl", .backend_word = "sycl"};
    report.host.libraries.reset();
    const auto unknown = test_predicate("library=libsycl.so.8", scope);
    EXPECT_EQ(unknown.holds, std::nullopt);
    EXPECT_EQ(unknown.why.code, "requirement-unknown");
    report.host.libraries.emplace();
    const auto missing = test_predicate("library=libsycl.so.8", scope);
    EXPECT_EQ(missing.holds, false);
    EXPECT_EQ(missing.why, because("library-missing", {{"missing", "libsycl.so.8"}}));
}

struct BadRow {
    const char* name;
    std::string predicate;
    const char* problem;
};
class BadPredicates : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadPredicates, AreRefused) {
    EXPECT_EQ(predicate_problem(GetParam().predicate), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadPredicates,
    ::testing::Values(
        BadRow{"Empty", "", ": no such fact"},
        BadRow{"UnknownFact", "drivers>=1", "drivers: no such fact"},
        BadRow{"UnknownAlternative", "driver>=1 or foo", "foo: no such fact"},
        BadRow{"DanglingOr", "driver>=1 or ", ": no such fact"},
        BadRow{"DoubtAlone", "unknown", "unknown: no such fact"},
        BadRow{"DoubtNotLast", "unknown or driver>=1", "unknown: no such fact"},
        BadRow{"NoRelation", "driver", "driver: expected =, !=, <, <=, > or >="},
        BadRow{"StrangeRelation", "driver=>1", "driver: expected =, !=, <, <=, > or >="},
        BadRow{"NoVersion", "driver>=abc", "driver: expected a version like 1.2"},
        BadRow{"HalfAVersion", "driver>=1.2.", "driver: expected a version like 1.2"},
        BadRow{"TwoVersions", "driver=1|2", "driver: expected a version like 1.2"},
        BadRow{"LibraryThatNoScanLooksFor", "library=libsycl.so.8|libc.so.6",
               "libc.so.6: no scan looks for this library"},
        BadRow{"NoSize", "memory>=8G", "memory: expected a size like 8GiB"},
        BadRow{"OrderedWord", "vendor>=amd", "vendor: a word is compared with = or !="},
        BadRow{"EmptyWord", "vendor=", "vendor: an empty word"},
        BadRow{"EmptyAlternative", "vendor=amd|", "vendor: an empty word"},
        BadRow{"OrderedFlag", "fp16>true", "fp16: expected =true, =false or nothing"},
        BadRow{"FlagThatIsNone", "fp16=yes", "fp16: expected =true, =false or nothing"},
        BadRow{"TooLong", "vendor=" + std::string(250, 'a'), "a predicate of more than 256 bytes"}),
    testing::case_name);

TEST(Predicate, OfTheLongestSizeIsFine) {
    EXPECT_EQ(predicate_problem("vendor=" + std::string(249, 'a')), std::nullopt);
}

TEST(Predicate, IsAboutTheHostWhenEachAlternativeIs) {
    EXPECT_TRUE(is_about_host("glibc>=2.35"));
    EXPECT_TRUE(is_about_host("glibc>=2.35 or libc=musl"));
    EXPECT_FALSE(is_about_host("glibc>=2.35 or vendor=amd"));
    EXPECT_FALSE(is_about_host("fp16"));
}

TEST(Predicate, SaysWhatThereIsAndWhatIsNeeded) {
    const auto report = machine();
    const FactScope scope{.report = report, .gpu = report.gpus.data()};
    EXPECT_EQ(test_predicate("driver>=600", scope).why.detail,
              (Value{Value::Object{{"have", "580.65.06"}, {"need", "600"}}}));
    EXPECT_EQ(test_predicate("compute-capability>=99", scope).why.detail,
              (Value{Value::Object{{"have", "9.0"}, {"need", "compute-capability>=99"}}}));
}

TEST(Predicate, TakesTheBoardsMemoryForABound) {
    auto report = machine();
    report.gpus[0].memory.allocatable.reset();
    const FactScope scope{.report = report, .gpu = report.gpus.data()};
    EXPECT_EQ(test_predicate("memory>=142GiB", scope).holds, false);
    EXPECT_EQ(test_predicate("memory>=141GiB", scope).holds, std::nullopt);
    EXPECT_EQ(test_predicate("memory<1GiB", scope).holds, std::nullopt);
}

TEST(Predicate, GluesTheLesserOfAll) {
    const auto report = machine();
    const FactScope scope{.report = report, .gpu = &report.gpus[1]};
    EXPECT_EQ(test_all({}, scope), true);
    EXPECT_EQ(test_all({"vendor=amd", "gfx=gfx1100"}, scope), true);
    EXPECT_EQ(test_all({"driver>=1", "vendor=amd"}, scope), std::nullopt);
    EXPECT_EQ(test_all({"driver>=1", "vendor=nvidia"}, scope), false);
}

}  // namespace
}  // namespace gpuprobe
