// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/fact.h"
#include "policy/term.h"
#include "report/video.h"
#include "support/case_name.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace predicate_test {

using support::amd_card;
using support::kFirstUuid;
using support::nvidia_card;
using support::parsed;

/// A machine with one NVIDIA GPU (9.0, driver 580.65.06, 140 GiB) and one AMD GPU (gfx1100).
Report machine() {
    auto report = support::report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0),
                                      amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0)});
    report.host.arch = "x86_64";
    report.host.os = "linux";
    report.host.kernel = "6.8.0-45-generic";
    report.host.libraries = {"libsycl.so.8", "libvulkan.so.1"};
    report.host.libc = {.name = "glibc", .version = "2.36"};
    report.host.python = "3.11";
    report.host.cpu.level = "x86-64-v3";
    report.host.cpu.features = {"avx", "avx2"};
    report.gpus[0].driver = {.name = "nvidia", .version = "580.65.06"};
    report.gpus[0].apis["vulkan"].version = "1.3.277";
    report.gpus[0].apis["vulkan"].device["shader_float16"] = false;
    report.gpus[0].apis["vulkan"].device["storage_buffer_16bit"] = false;
    report.gpus[0].apis["vulkan"].device["max_buffer_size"] = gib(1).count;
    for (const auto bits : {8U, 10U})
        report.gpus[1].apis["vaapi"].device["video"].push_back(
            to_value(VideoEntry{.direction = VideoDirection::Decode,
                                .codec = "av1",
                                .profile = "main",
                                .bits = bits,
                                .name = "x"}));
    report.gpus[1].apis["vaapi"].outcome = Outcome::Answered;
    report.gpus[1].apis["vaapi"].device["driver_name"] = "radeonsi";
    report.gpus[1].driver.version.reset();
    report.runtimes["level_zero"] = {.outcome = Outcome::Absent};
    report.runtimes["opencl"] = {.outcome = Outcome::Crashed};
    return report;
}

enum class On { Nvidia, Amd, None };
struct Row {
    const char* name;
    const char* predicate;
    Truth holds;
    const char* why = "";  ///< the reason code, unless the predicate holds
    On on = On::Nvidia;
    const char* backend = "cuda";
};
class Predicates : public ::testing::TestWithParam<Row> {};

TEST_P(Predicates, HoldFailOrAreNotKnown) {
    const auto& row = GetParam();
    ASSERT_EQ(predicate_problem(row.predicate), std::nullopt);
    const auto report = machine();
    Facts::Subject subject{.report = report, .backend = row.backend, .backend_word = row.backend};
    if (row.on != On::None)
        subject.gpu = &report.gpus[row.on == On::Nvidia ? 0 : 1];
    const auto tested = test_predicate(parsed(row.predicate), Facts{subject});
    EXPECT_EQ(tested.truth, row.holds);
    EXPECT_EQ(tested.why && tested.truth != Truth::True ? tested.why->code : "", row.why);
}

/// If the library of an API is missing, the API was never queried about the device.
TEST(PredicatesOfAnApi, AreNotKnownWhereItIsNotInstalled) {
    auto report = machine();
    auto& gpu = report.gpus[0];
    gpu.apis.erase("vulkan");
    report.runtimes["vulkan"] = {.outcome = Outcome::Absent};
    const Facts facts{
        {.report = report, .gpu = &gpu, .backend = "vulkan", .backend_word = "vulkan"}};
    for (const auto* predicate : {"storage-16bit", "fp16", "vulkan>=1.2", "max-buffer>=1GiB"})
        EXPECT_EQ(test_predicate(parsed(predicate), facts).truth, Truth::Unknown) << predicate;
    const auto accepted = test_predicate(parsed("storage-16bit or unknown"), facts);
    EXPECT_EQ(accepted.truth, Truth::True);
    ASSERT_TRUE(accepted.why) << "the fact is still unknown";
    EXPECT_TRUE(accepted.why->is("requirement-unknown"));
    EXPECT_EQ(test_predicate(parsed("hip>=6.0"), facts).truth, Truth::False) << "another vendor's";
}

constexpr auto kUnknown = Truth::Unknown;
INSTANTIATE_TEST_SUITE_P(
    Versions,
    Predicates,
    ::testing::Values(
        Row{"Above", "driver>=550", Truth::True},
        Row{"Equal", "driver>=580.65.06", Truth::True},
        Row{"MissingPartsAreZero", "driver>=580.65.6.0", Truth::True},
        Row{"OneBelow", "driver>=580.65.07", Truth::False, "driver-too-old"},
        Row{"NumbersAndNotText", "driver>=1000", Truth::False, "driver-too-old"},
        Row{"NoFloor", "driver<580", Truth::False, "requirement-unmet"},
        Row{"LessThan", "driver<580.65.07", Truth::True},
        Row{"Different", "driver!=580", Truth::True},
        Row{"Capability", "compute-capability>=9.0", Truth::True},
        Row{"TooSmallACapability", "compute-capability>=10.0", Truth::False, "arch-not-in-build"},
        Row{"OfAnotherVendor", "compute-capability>=1.0", Truth::False, "requirement-unmet",
            On::Amd},
        Row{"NotKnown", "driver>=1", kUnknown, "requirement-unknown", On::Amd},
        Row{"OfNoGpu", "driver>=1", Truth::False, "requirement-unmet", On::None},
        Row{"Kernel", "kernel>=6.8", Truth::True},
        Row{"Glibc", "glibc>=2.37", Truth::False, "glibc-too-old"},
        Row{"Python", "python>=3.12", Truth::False, "python-too-old"},
        Row{"PythonBelow", "python<3.11", Truth::False, "python-too-new"},
        Row{"PythonAtMost", "python<=3.11", Truth::True},
        Row{"OtherPython", "python=3.12", Truth::False, "requirement-unmet"},
        Row{"Level", "cpu-level>=3", Truth::True},
        Row{"ApiOfTheDevice", "vulkan>=1.3", Truth::True},
        Row{"ApiThatIsNotInstalled", "level-zero>=1.0", Truth::False, "requirement-unmet"},
        Row{"ApiThatCrashed", "opencl>=1.0", kUnknown, "requirement-unknown", On::Amd}),
    support::case_name);

/// The reason contains the formats of the codec, or if there are none, the codecs of the GPU.
TEST(PredicatesOfVideos, NameTheFormatsThatAreThere) {
    auto report = machine();
    const Facts facts{{.report = report, .gpu = &report.gpus[1]}};
    const auto have = [&facts](const char* predicate) {
        return test_predicate(parsed(predicate), facts).why->detail.at("have");
    };
    EXPECT_EQ(have("video.decode=av1-main-12bit"),
              (Value{Value::Array{Value{"av1-main-10bit"}, Value{"av1-main-8bit"}}}));
    EXPECT_EQ(have("video.decode=vp9"), Value{Value::Array{Value{"av1"}}});
    EXPECT_EQ(have("video.encode=av1"), Value{"none"});
}

TEST(PredicatesOfVideos, KnowTheNamesOfTheStandards) {
    EXPECT_EQ(parsed("video.decode=h265-main10|avc|mjpeg*").alternatives.front().need,
              parsed("video.decode=hevc-main10|h264|jpeg*").alternatives.front().need);
}

TEST(PredicatesOfVideos, AreRefusedInARequestIfTheFormatIsUnknown) {
    for (const auto* good : {"video.decode=h265", "video.encode!=av1-main-10bit",
                             "video.decode=av1-*", "vendor=other or video.decode=vp9"})
        EXPECT_TRUE(requested_predicate(good)) << good;
    EXPECT_EQ(requested_predicate("video.decode=hevc-main-16bit").error().text.substr(0, 37),
              "hevc-main-16bit: unknown video format");
    EXPECT_EQ(requested_predicate("video.encode=hecv").error().text,
              "hecv: unknown video format; did you mean 'hevc'?");
    EXPECT_FALSE(requested_predicate("vendor=amd or video.decode=divx"));
}

/// NVENC is not probed yet.
TEST(PredicatesOfVideos, AreUnknownIfNvidiasVaDriverDoesNotListThem) {
    auto report = machine();
    auto& nvidia = report.gpus[0];
    nvidia.apis["vaapi"].device["video"] = report.gpus[1].apis["vaapi"].device["video"];
    for (const auto& [driver, expected] :
         {std::pair{"nvidia", kUnknown}, std::pair{"nouveau", Truth::False}}) {
        nvidia.driver.name = driver;
        const Facts facts{{.report = report, .gpu = &nvidia}};
        EXPECT_EQ(test_predicate(parsed("video.decode=av1"), facts).truth, Truth::True);
        EXPECT_EQ(test_predicate(parsed("video.encode=hevc"), facts).truth, expected) << driver;
        EXPECT_EQ(test_predicate(parsed("video.decode=hevc"), facts).truth, expected) << driver;
    }
}

TEST(PredicatesOfVideos, AreFalseWithoutAnEngineOrALibrary) {
    auto report = machine();
    auto& nvidia = report.gpus[0];
    const auto tested = [&report] {
        return test_predicate(parsed("video.encode=h264 or unknown"),
                              Facts{{.report = report, .gpu = &report.gpus[0]}});
    };
    EXPECT_EQ(tested().truth, Truth::True) << "not probed";
    nvidia.lacks_video = {VideoDirection::Encode};
    EXPECT_EQ(tested().truth, Truth::False);
    EXPECT_EQ(tested().why, because("requirement-unmet",
                                    {{"requirement", "video.encode=h264"}, {"have", "none"}}));
    nvidia.lacks_video.clear();
    const auto missing = because("library-missing", {{"missing", "libnvidia-encode.so.1"}});
    nvidia.apis["nvcodec"] = {.outcome = Outcome::Absent, .reasons = {missing}};
    EXPECT_EQ(tested().truth, Truth::False);
    EXPECT_EQ(tested().why, missing);
}

TEST(PredicatesOfVideos, CountVulkanOnlyForBackendsThatCanUseIt) {
    auto report = machine();
    auto& gpu = report.gpus[0];
    gpu.vendor = "amd";
    gpu.apis["vulkan"].device["video"].push_back(to_value(
        VideoEntry{.direction = VideoDirection::Decode, .codec = "vp9", .bits = 8U, .name = "x"}));
    const auto truth = [&](const char* term, std::string_view backend) {
        return test_predicate(parsed(term),
                              Facts{{.report = report, .gpu = &gpu, .backend = backend}})
            .truth;
    };
    EXPECT_EQ(truth("video.decode=vp9", ""), Truth::True);
    EXPECT_EQ(truth("video.decode=vp9", "vulkan"), Truth::True);
    EXPECT_EQ(truth("video.decode=vp9", "vaapi"), kUnknown) << "VA-API is not probed";
    EXPECT_EQ(truth("video.decode=av1", ""), kUnknown);
    gpu.apis["vaapi"].device["video"] = Value{Value::Array{}};
    EXPECT_EQ(truth("video.decode=vp9", ""), Truth::True);
    EXPECT_EQ(truth("video.decode=vp9", "vaapi"), Truth::False);
    EXPECT_EQ(truth("video.decode=av1", ""), Truth::False);
    const auto why = test_predicate(parsed("video.decode=vp9"),
                                    Facts{{.report = report, .gpu = &gpu, .backend = "vaapi"}})
                         .why;
    ASSERT_TRUE(why);
    EXPECT_EQ(why->detail.at("have"), Value{"none"});
}

/// Whether the second GPU decodes VP9 and encodes HEVC, with these further entries.
std::pair<Truth, Truth> with_entries(const std::vector<VideoEntry>& entries) {
    auto report = machine();
    for (const auto& entry : entries)
        report.gpus[1].apis["vaapi"].device["video"].push_back(to_value(entry));
    const Facts facts{{.report = report, .gpu = &report.gpus[1]}};
    EXPECT_EQ(test_predicate(parsed("video.decode=av1"), facts).truth, Truth::True);
    return {test_predicate(parsed("video.decode=vp9"), facts).truth,
            test_predicate(parsed("video.encode=hevc"), facts).truth};
}

TEST(PredicatesOfVideos, AreUnknownIfAnEntryMayMeanThem) {
    constexpr auto kDecode = VideoDirection::Decode;
    const VideoEntry whole{.direction = kDecode, .codec = "h264", .profile = "main", .bits = 8U};
    auto without_bits = whole;
    without_bits.bits.reset();
    const VideoEntry of_unknown_profile{.direction = kDecode, .name = "99/VAEntrypointVLD"};
    const VideoEntry without_direction{.name = "99/VAEntrypointFEI"};
    EXPECT_EQ(with_entries({whole, without_direction}), std::pair(Truth::False, Truth::False));
    EXPECT_EQ(with_entries({without_bits}), std::pair(kUnknown, Truth::False));
    EXPECT_EQ(with_entries({of_unknown_profile}), std::pair(kUnknown, Truth::False));
    // machine() already has two entries.
    EXPECT_EQ(with_entries(std::vector(kMaxVideoEntries - 3, whole)),
              std::pair(Truth::False, Truth::False));
    EXPECT_EQ(with_entries(std::vector(kMaxVideoEntries - 2, whole)),
              std::pair(kUnknown, kUnknown));
}

INSTANTIATE_TEST_SUITE_P(
    Videos,
    Predicates,
    ::testing::Values(
        Row{"Codec", "video.decode=av1", Truth::True, "", On::Amd},
        Row{"Profile", "video.decode=av1-main", Truth::True, "", On::Amd},
        Row{"Bits", "video.decode=av1-10bit", Truth::True, "", On::Amd},
        Row{"ProfileAndBits", "video.decode=av1-main-10bit", Truth::True, "", On::Amd},
        Row{"OneOfSeveral", "video.decode=hevc|av1-8bit", Truth::True, "", On::Amd},
        Row{"AnyProfileOfACodec", "video.decode=av1-*", Truth::True, "", On::Amd},
        Row{"OtherBits", "video.decode=av1-main-12bit", Truth::False, "requirement-unmet", On::Amd},
        Row{"OtherCodec", "video.decode=hevc", Truth::False, "requirement-unmet", On::Amd},
        Row{"NoCodec", "video.decode!=hevc", Truth::True, "", On::Amd},
        Row{"OtherDirection", "video.encode=av1", Truth::False, "requirement-unmet", On::Amd},
        Row{"NotInAnEmptyList", "video.encode!=av1", Truth::True, "", On::Amd},
        Row{"NothingInAnEmptyList", "video.encode!=*", Truth::True, "", On::Amd},
        Row{"NotInAListThatNoApiReported", "video.encode!=av1", kUnknown, "requirement-unknown"},
        Row{"AnyFormat", "video.decode=*", Truth::True, "", On::Amd},
        Row{"Driver", "va-driver=radeonsi", Truth::True, "", On::Amd},
        Row{"OtherDriver", "va-driver=iHD", Truth::False, "requirement-unmet", On::Amd},
        Row{"DriverOfAGpuThatNoApiReported", "va-driver=iHD", kUnknown, "requirement-unknown"},
        Row{"OfAGpuThatNoApiReported", "video.decode=av1", kUnknown, "requirement-unknown"},
        Row{"OfNoGpuAtAll", "video.decode=av1", Truth::False, "requirement-unmet", On::None}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Words,
    Predicates,
    ::testing::Values(
        Row{"Same", "vendor=nvidia", Truth::True},
        Row{"Capitals", "vendor=NVIDIA", Truth::True},
        Row{"Other", "vendor=amd", Truth::False, "requirement-unmet"},
        Row{"OneOfSeveral", "vendor=amd|nvidia", Truth::True},
        Row{"NoneOfSeveral", "vendor!=amd|intel", Truth::True},
        Row{"BeginsLike", "gfx=gfx11*", Truth::True, "", On::Amd},
        Row{"DoesNotBeginLike", "gfx=gfx12*", Truth::False, "arch-not-in-build", On::Amd},
        Row{"NotEqualButAbsent", "gfx!=gfx1100", Truth::False, "requirement-unmet"},
        Row{"AnyWord", "vendor=*", Truth::True},
        Row{"AmongMany", "cpu-feature=avx2", Truth::True},
        Row{"NotAmongMany", "cpu-feature=avx512f", Truth::False, "requirement-unmet"},
        Row{"Library", "library=libsycl.so.8", Truth::True, "", On::None},
        Row{"LibraryOfAnyVersion", "library=libsycl.so*", Truth::True},
        Row{"OneOfTwoLibraries", "library=libsycl.so.9|libvulkan.so.1", Truth::True},
        Row{"LibraryOfAnotherVersion", "library=libsycl.so.9", Truth::False, "library-missing"},
        Row{"LibraryThatMustNotBe", "library!=libsycl.so.8", Truth::False, "requirement-unmet"},
        Row{"OfTheMachine", "vendors=amd", Truth::True, "", On::None},
        Row{"NotOfTheMachine", "vendors=intel", Truth::False, "requirement-unmet", On::None},
        Row{"Platform", "platform=linux-amd64", Truth::True, "", On::None},
        Row{"Backend", "backend=cuda", Truth::True},
        Row{"NoContainer", "container=docker", Truth::False, "requirement-unmet"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    SizesAndFlags,
    Predicates,
    ::testing::Values(
        Row{"Exactly", "memory>=140GiB", Truth::True},
        Row{"OneByteShort", "memory>=150323855361", Truth::False, "too-little-memory"},
        Row{"MoreThan", "memory>140GiB", Truth::False, "too-little-memory"},
        Row{"Decimal", "memory>=150GB", Truth::True},
        Row{"OneSize", "physical-memory>=141GiB", Truth::True},
        Row{"Buffer", "max-buffer>=1GiB", Truth::True, "", On::Nvidia, "vulkan"},
        Row{"BufferOfAnApiThatDoesNotTell", "max-buffer>=1", kUnknown, "requirement-unknown"},
        Row{"FlagFromTheCapability", "fp16", Truth::True},
        Row{"FlagOfTheApi", "fp16", Truth::False, "requirement-unmet", On::Nvidia, "vulkan"},
        Row{"NegatedFlag", "fp16=false", Truth::True, "", On::Nvidia, "vulkan"},
        Row{"FlagNotTold", "int8", kUnknown, "requirement-unknown", On::Nvidia, "vulkan"},
        Row{"HalvesInStorage", "storage-16bit", Truth::False, "requirement-unmet", On::Nvidia,
            "vulkan"},
        Row{"HalvesNotTold", "storage-16bit", kUnknown, "requirement-unknown", On::Amd, "vulkan"},
        Row{"NeverVerified", "verified", Truth::False, "requirement-unmet"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Alternatives,
    Predicates,
    ::testing::Values(
        Row{"KnownNotToDo", "storage-16bit or unknown", Truth::False, "requirement-unmet"},
        Row{"NotKnownWhereThatWillDo", "storage-16bit or unknown", Truth::True, "", On::Amd},
        Row{"KnownToDo", "driver>=550 or unknown", Truth::True},
        Row{"First", "driver>=570 or compute-capability>=99", Truth::True},
        Row{"Second", "compute-capability>=99 or driver>=570", Truth::True},
        Row{"DriverAfterChip", "compute-capability>=99 or driver>=600", Truth::False,
            "driver-too-old"},
        Row{"DriverBeforeChip", "driver>=600 or compute-capability=8.7", Truth::False,
            "driver-too-old"},
        Row{"SettingBeforeChip", "container=docker or gfx=gfx1201", Truth::False,
            "requirement-unmet", On::Amd},
        Row{"FalseOrUnknown", "vendor=nvidia or driver>=1", kUnknown, "requirement-unknown",
            On::Amd},
        Row{"UnknownOrFalse", "driver>=1 or vendor=nvidia", kUnknown, "requirement-unknown",
            On::Amd},
        Row{"UnknownOrTrue", "driver>=1 or vendor=amd", Truth::True, "", On::Amd}),
    support::case_name);

TEST(Libraries, AreUnknownWhereNobodyLookedAndMissingWhereThereAreNone) {
    auto report = machine();
    const Facts facts{{.report = report, .backend = "sycl", .backend_word = "sycl"}};
    report.host.libraries.reset();
    const auto unknown = test_predicate(parsed("library=libsycl.so.8"), Facts{facts.subject()});
    EXPECT_EQ(unknown.truth, Truth::Unknown);
    EXPECT_EQ(unknown.why->code, "requirement-unknown");
    report.host.libraries.emplace();
    const auto missing = test_predicate(parsed("library=libsycl.so.8"), Facts{facts.subject()});
    EXPECT_EQ(missing.truth, Truth::False);
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
        BadRow{"UnknownFact", "drivers>=1", "drivers: no such fact; did you mean 'driver'?"},
        BadRow{"FactWithAPrefix", "min_memory>=3",
               "min_memory: no such fact; did you mean 'memory'?"},
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
               "libc.so.6: gpuprobe does not search for this library"},
        BadRow{"NoSize", "memory>=8G", "memory: expected a size like 8GiB"},
        BadRow{"OrderedWord", "vendor>=amd", "vendor: compare this fact only with = or !="},
        BadRow{"EmptyWord", "vendor=", "vendor: an empty word"},
        BadRow{"EmptyAlternative", "vendor=amd|", "vendor: an empty word"},
        BadRow{"OrderedFlag", "fp16>true", "fp16: expected =true, =false or nothing"},
        BadRow{"FlagThatIsNone", "fp16=yes", "fp16: expected =true, =false or nothing"},
        BadRow{"TooLong", "vendor=" + std::string(250, 'a'), "a predicate of more than 256 bytes"}),
    support::case_name);

TEST(Predicate, OfTheLongestSizeIsFine) {
    EXPECT_EQ(predicate_problem("vendor=" + std::string(249, 'a')), std::nullopt);
}

TEST(Predicate, IsAboutTheHostWhenEachAlternativeIs) {
    EXPECT_TRUE(is_about_host(parsed("glibc>=2.35")));
    EXPECT_TRUE(is_about_host(parsed("glibc>=2.35 or libc=musl")));
    EXPECT_FALSE(is_about_host(parsed("glibc>=2.35 or vendor=amd")));
    EXPECT_FALSE(is_about_host(parsed("fp16")));
}

TEST(Predicate, ReportsTheActualAndTheNeededValue) {
    const auto report = machine();
    const Facts facts{{.report = report, .gpu = report.gpus.data()}};
    EXPECT_EQ(test_predicate(parsed("driver>=600"), facts).why->detail,
              (Value{Value::Object{{"have", "580.65.06"}, {"need", "600"}}}));
    EXPECT_EQ(test_predicate(parsed("compute-capability>=99"), facts).why->detail,
              (Value{Value::Object{{"have", "9.0"}, {"need", "compute-capability>=99"}}}));
}

TEST(Predicate, NamesAllAlternativesThatFailLikewise) {
    const auto report = machine();
    const Facts facts{{.report = report, .gpu = report.gpus.data()}};
    EXPECT_EQ(test_predicate(parsed("compute-capability=7.2 or compute-capability=8.7"), facts)
                  .why->detail,
              (Value{Value::Object{{"have", "9.0"}, {"need", "compute-capability=7.2 or 8.7"}}}));
    const Facts other{{.report = report, .gpu = &report.gpus[1]}};
    EXPECT_EQ(test_predicate(parsed("driver>=550 or vendor=nvidia or driver=1"), other).why,
              because("requirement-unknown", {{"requirement", "driver>=550 or driver=1"}}));
    EXPECT_EQ(test_predicate(parsed("driver>=600 or driver>=700"), facts).why->detail.at("need"),
              Value{"600"});
}

TEST(Predicate, CountsOnTheBoardsMemoryWhereNoDriverTells) {
    auto report = machine();
    report.gpus[0].memory.allocatable.reset();
    const Facts facts{{.report = report, .gpu = report.gpus.data()}};
    EXPECT_EQ(test_predicate(parsed("memory>=142GiB"), facts).truth, Truth::False);
    EXPECT_EQ(test_predicate(parsed("memory>=142GiB"), facts).why->detail.at("of"),
              Value{"physical"});
    EXPECT_EQ(test_predicate(parsed("memory>=140GiB"), facts).truth, Truth::True);
    EXPECT_EQ(test_predicate(parsed("memory<1GiB"), facts).truth, Truth::False);
}

TEST(Predicate, GluesTheLesserOfAll) {
    const auto report = machine();
    const Facts facts{{.report = report, .gpu = &report.gpus[1]}};
    EXPECT_EQ(test_all({}, facts), Truth::True);
    EXPECT_EQ(test_all({parsed("vendor=amd"), parsed("gfx=gfx1100")}, facts), Truth::True);
    EXPECT_EQ(test_all({parsed("driver>=1"), parsed("vendor=amd")}, facts), Truth::Unknown);
    EXPECT_EQ(test_all({parsed("driver>=1"), parsed("vendor=nvidia")}, facts), Truth::False);
}

}  // namespace predicate_test
}  // namespace gpuprobe
