// SPDX-License-Identifier: Apache-2.0
#include "backends/vaapi/vaapi.h"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "recording_sink.h"

namespace gpuprobe::backends::va {
namespace vaapi_test {

constexpr auto kDecode = VAEntrypointVLD;

std::vector<std::uint32_t> bits_of(const std::vector<VideoEntry>& entries) {
    std::vector<std::uint32_t> bits;
    for (const auto& entry : entries)
        bits.push_back(entry.bits.value_or(0));
    return bits;
}

TEST(VaEntries, HaveTheWordsOfTheProfileAndTheNamesOfVa) {
    const auto entries =
        entries_of(VAProfileHEVCMain10, VAEntrypointEncSliceLP,
                   {.formats = VA_RT_FORMAT_YUV420_10, .max_width = 8192U, .max_height = 4320U});
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0], (VideoEntry{.direction = VideoDirection::Encode,
                                      .codec = "hevc",
                                      .profile = "main10",
                                      .bits = 10U,
                                      .chroma = "4:2:0",
                                      .max_width = 8192U,
                                      .max_height = 4320U,
                                      .name = "VAProfileHEVCMain10/VAEntrypointEncSliceLP"}));
}

TEST(VaEntries, AreOneForEachFormatOfTheProfile) {
    using Bits = std::vector<std::uint32_t>;
    constexpr auto kBoth = VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV420_10;
    EXPECT_EQ(bits_of(entries_of(VAProfileAV1Profile0, kDecode, {.formats = kBoth})),
              (Bits{8, 10}));
    EXPECT_EQ(bits_of(entries_of(VAProfileHEVCMain, kDecode, {.formats = kBoth})), Bits{8})
        << "this profile has no streams of 10 bits";
    EXPECT_EQ(bits_of(entries_of(VAProfileVP9Profile2, kDecode, {.formats = kBoth})), Bits{10});
    constexpr auto kTwo = VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_YUV444;
    EXPECT_EQ(
        entries_of(VAProfileH264Main, kDecode, {.formats = kTwo | VA_RT_FORMAT_YUV420}).size(), 1U)
        << "all streams of this profile are 4:2:0";
    EXPECT_EQ(entries_of(VAProfileHEVCMain444, kDecode, {.formats = kTwo}).size(), 2U);
    const auto converted = entries_of(VAProfileH264Main, kDecode, {.formats = kTwo});
    ASSERT_EQ(converted.size(), 1U);
    EXPECT_EQ(converted[0].chroma, std::nullopt);
    const auto jpeg =
        entries_of(VAProfileJPEGBaseline, kDecode,
                   {.formats = VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_RGB32});
    ASSERT_EQ(jpeg.size(), 2U);
    EXPECT_EQ(jpeg[1].chroma, "4:2:2");
}

TEST(VaEntries, HaveNoFormatIfTheDriverReportsNone) {
    const auto main = entries_of(VAProfileH264Main, kDecode, {});
    ASSERT_EQ(main.size(), 1U);
    EXPECT_EQ(main[0].bits, 8U) << "all streams of this profile";
    EXPECT_EQ(main[0].chroma, std::nullopt);
    const auto av1 = entries_of(VAProfileAV1Profile0, kDecode, {});
    ASSERT_EQ(av1.size(), 1U);
    EXPECT_EQ(av1[0].bits, std::nullopt) << "8 or 10";
    EXPECT_EQ(entries_of(VAProfileH264High, kDecode, {.formats = VA_RT_FORMAT_RGB32}).size(), 1U);
}

TEST(VaEntries, HaveNoDirectionIfOnlyAPartIsDone) {
    for (const auto part : {VAEntrypointIDCT, VAEntrypointMoComp, VAEntrypointFEI})
        EXPECT_EQ(entries_of(VAProfileMPEG2Main, part, {})[0].direction, std::nullopt) << part;
    const auto process = entries_of(VAProfileNone, VAEntrypointVideoProc, {.formats = 1U});
    ASSERT_EQ(process.size(), 1U);
    EXPECT_EQ(process[0].direction, VideoDirection::Process);
    EXPECT_EQ(process[0].codec, std::nullopt);
    EXPECT_EQ(process[0].name, "VAProfileNone/VAEntrypointVideoProc");
}

TEST(VaEntries, KnowProfilesThatAreNewerThanTheHeaders) {
    EXPECT_EQ(entries_of(37, kDecode, {})[0].codec, "vvc");
    const auto unknown = entries_of(99, 77, {});
    EXPECT_EQ(unknown[0].name, "99/77");
    EXPECT_EQ(unknown[0].codec, std::nullopt);
    EXPECT_EQ(unknown[0].direction, std::nullopt);
}

// A driver that reports the values set by each test.
std::vector<int> listed_profiles;
std::vector<int> listed_entrypoints;
std::optional<int> claimed_count;
std::map<VAConfigAttribType, std::uint32_t> listed_attributes;
VAStatus profile_status = VA_STATUS_SUCCESS;
VAStatus entrypoint_status = VA_STATUS_SUCCESS;

void fill(const std::vector<int>& items, int* list, int* count) {
    std::copy(items.begin(), items.end(), list);
    *count = claimed_count.value_or(static_cast<int>(items.size()));
}
VAStatus profiles(VADisplay, int* list, int* count) {
    fill(listed_profiles, list, count);
    return profile_status;
}
VAStatus entrypoints(VADisplay, int, int* list, int* count) {
    fill(listed_entrypoints, list, count);
    return entrypoint_status;
}
VAStatus attributes(VADisplay, int, int, VAConfigAttrib* list, int count) {
    for (int i = 0; i < count; ++i)
        if (const auto found = listed_attributes.find(list[i].type);
            found != listed_attributes.end())
            list[i].value = found->second;
    return VA_STATUS_SUCCESS;
}
const char* error_text(VAStatus) {
    return "told";
}
void other() {}

class VaDriver : public testing::Test {
protected:
    void SetUp() override {
        listed_profiles = {VAProfileH264Main};
        listed_entrypoints = {VAEntrypointVLD};
        listed_attributes = {{VAConfigAttribRTFormat, VA_RT_FORMAT_YUV420}};
        claimed_count.reset();
        profile_status = entrypoint_status = VA_STATUS_SUCCESS;
    }
    static Asked<std::vector<VideoEntry>> asked() {
        const auto table = load<Symbols>([](const char* name) -> AnyFunction {
            const std::string_view wanted = name;
            if (wanted == "vaQueryConfigProfiles")
                return reinterpret_cast<AnyFunction>(profiles);
            if (wanted == "vaQueryConfigEntrypoints")
                return reinterpret_cast<AnyFunction>(entrypoints);
            if (wanted == "vaGetConfigAttributes")
                return reinterpret_cast<AnyFunction>(attributes);
            return wanted == "vaErrorStr" ? reinterpret_cast<AnyFunction>(error_text) : other;
        });
        return entries_of(*table, nullptr);
    }
    static std::size_t number() { return asked().value().size(); }
};

TEST_F(VaDriver, IsAskedForEachProfileAndEntryPoint) {
    listed_profiles = {VAProfileH264Main, VAProfileH264High};
    listed_entrypoints = {VAEntrypointVLD, VAEntrypointEncSlice};
    EXPECT_EQ(number(), 4U);
    listed_profiles.clear();
    EXPECT_EQ(number(), 0U);
}

TEST_F(VaDriver, CannotListAnythingTwice) {
    listed_profiles = {VAProfileH264Main, VAProfileH264Main};
    listed_entrypoints = {VAEntrypointVLD, VAEntrypointVLD, VAEntrypointVLD};
    EXPECT_EQ(number(), 1U);
}

TEST_F(VaDriver, CannotAnnounceMoreThanTheLimits) {
    listed_profiles.clear();
    for (int profile = 100; profile < 400; ++profile)
        listed_profiles.push_back(profile);
    EXPECT_EQ(number(), 256U);
    listed_entrypoints = {VAEntrypointVLD, VAEntrypointEncSlice, VAEntrypointFEI};
    EXPECT_EQ(number(), kMaxVideoEntries);
    claimed_count = -5;
    EXPECT_EQ(number(), 0U);
}

TEST_F(VaDriver, ThatAnnouncesTooMuchIsReadToTheLimit) {
    claimed_count = 1'000'000'000;
    // Elements after the end of the list are zero, which means MPEG-2 Simple with an entry point
    // that does not exist.
    const auto entries = asked().value();
    EXPECT_EQ(entries.size(), 4U);
    EXPECT_EQ(entries.front().name, "VAProfileH264Main/VAEntrypointVLD");
}

TEST_F(VaDriver, LeavesASizeUnknownThatIsAbsurd) {
    for (const auto width : {0U, VA_ATTRIB_NOT_SUPPORTED, (1U << 20U) + 1}) {
        listed_attributes[VAConfigAttribMaxPictureWidth] = width;
        EXPECT_EQ(asked().value().front().max_width, std::nullopt) << width;
    }
    listed_attributes[VAConfigAttribMaxPictureWidth] = 1U << 20U;
    EXPECT_EQ(asked().value().front().max_width, 1U << 20U);
    EXPECT_EQ(asked().value().front().max_height, std::nullopt);
}

TEST_F(VaDriver, MayListAProfileThatTheChipLacks) {
    entrypoint_status = VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    EXPECT_EQ(number(), 0U);
}

TEST_F(VaDriver, FailsWithTheCallThatFailed) {
    entrypoint_status = VA_STATUS_ERROR_OPERATION_FAILED;
    EXPECT_EQ(asked().error().note, "vaQueryConfigEntrypoints: told");
    profile_status = VA_STATUS_ERROR_OPERATION_FAILED;
    const auto answer = asked().error();
    EXPECT_EQ(answer.outcome, Outcome::Failed);
    EXPECT_EQ(answer.reasons.at(0),
              because("api-refused", {{"call", "vaQueryConfigProfiles"}, {"code", 1}}));
}

TEST(VaQuery, IsAbsentWithoutTheRenderNode) {
    RecordingSink sink;
    const auto answer =
        query_vaapi(ProbeTarget{.api = "vaapi", .driver = "/dev/dri/renderD9999"}, sink);
    EXPECT_EQ(answer.outcome, Outcome::Absent);
    EXPECT_EQ(answer.reasons.at(0).code, "no-device");
    EXPECT_TRUE(sink.phases.empty()) << "nothing was loaded";
}

}  // namespace vaapi_test
}  // namespace gpuprobe::backends::va
