// SPDX-License-Identifier: Apache-2.0
#include "backends/nvcodec/nvcodec.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/word_list.h"

namespace gpuprobe::backends::nvcodec {
namespace nvcodec_test {

/// Whether report/video.h has the profile with the chroma and bits of the entry.
bool is_of_its_profile(const VideoEntry& entry) {
    return std::ranges::any_of(kVideoProfiles, [&](const VideoProfile& row) {
        return row.codec == entry.codec && row.profile == entry.profile.value_or("") &&
               row.least_bits <= entry.bits && entry.bits <= row.most_bits &&
               has_word(row.chroma, *entry.chroma);
    });
}

// A driver that supports all formats, or returns the error that a test sets.
int decoder_status = 0;
int questions = 0;
int all_formats(DecoderCaps* caps) {
    ++questions;
    caps->is_supported = 1;
    caps->max_width = 4096;
    return decoder_status;
}
Attempt<std::vector<VideoEntry>> decoded() {
    return decoded_formats(*load<DecodeSymbols>(
        [](const char*) { return reinterpret_cast<AnyFunction>(all_formats); }));
}

TEST(NvDec, HasOnlyProfilesThatContainTheSamples) {
    decoder_status = 0;
    const auto entries = decoded();
    ASSERT_TRUE(entries);
    std::size_t known = 0;
    for (const auto& entry : *entries) {
        EXPECT_EQ(entry.max_width, 4096U);
        EXPECT_EQ(entry.max_height, std::nullopt) << "the driver wrote 0";
        if (!entry.profile)
            continue;
        ++known;
        EXPECT_TRUE(is_of_its_profile(entry))
            << *entry.codec << *entry.profile << *entry.bits << *entry.chroma;
    }
    EXPECT_EQ(known, 46U) << "the rows of the table, times their profiles";
    EXPECT_LT(entries->size(), kMaxVideoEntries);
}

TEST(NvDec, IsUnknownIfTheDriverFails) {
    decoder_status = 1;
    EXPECT_TRUE(decoded()->empty()) << "CUDA_ERROR_INVALID_VALUE: no such codec";
    decoder_status = 801;
    EXPECT_TRUE(decoded()->empty()) << "CUDA_ERROR_NOT_SUPPORTED";
    decoder_status = 201;
    EXPECT_EQ(decoded().error().note, "cuvidGetDecoderCaps: CUDA error 201");
}

TEST(NvDec, IsAskedOnlyForSamplesOfProfiles) {
    decoder_status = 0;
    questions = 0;
    ASSERT_TRUE(decoded());
    EXPECT_EQ(questions, 40) << "of 132 combinations";
}

// An encoder that supports all codecs and profiles that gpuprobe knows.
constexpr Guid kH264 = {
    0x6bc82762, 0x4e63, 0x4ca4, {0xaa, 0x85, 0x1e, 0x50, 0xf3, 0x21, 0xf6, 0xbf}};
constexpr Guid kHigh = {
    0xe7cbc309, 0x4f7a, 0x4b89, {0xaf, 0x2a, 0xd5, 0x37, 0xc9, 0x2b, 0xe3, 0x10}};
constexpr Guid kHigh10 = {
    0x8f0c337e, 0x186c, 0x48e9, {0xa6, 0x9d, 0x7a, 0x83, 0x34, 0x08, 0x97, 0x58}};
constexpr Guid kHigh444 = {
    0x7ac663cb, 0xa598, 0x4960, {0xb8, 0x44, 0x33, 0x9b, 0x26, 0x1a, 0x7d, 0x52}};
int has_all_caps = 1;

Attempt<std::vector<VideoEntry>> encoded() {
    const auto newest = [](std::uint32_t* version) {
        *version = 0xd0;
        return 0;
    };
    const auto create = [](EncodeFunctions* functions) {
        functions->open_session = [](SessionParameters* parameters, Session* session) {
            *session = parameters->device;
            return 0;
        };
        functions->close_session = [](Session) { return 0; };
        functions->codecs = [](Session, Guid* list, std::uint32_t, std::uint32_t* count) {
            list[0] = list[1] = kH264;
            *count = 2;
            return 0;
        };
        functions->profiles = [](Session, Guid, Guid* list, std::uint32_t, std::uint32_t* count) {
            list[0] = kHigh;
            list[1] = kHigh10;
            list[2] = kHigh444;
            *count = 3;
            return 0;
        };
        functions->caps = [](Session, Guid, CapsParameter*, int* value) {
            *value = has_all_caps;
            return 0;
        };
        return 0;
    };
    const auto table = load<EncodeSymbols>([&](const char* name) -> AnyFunction {
        if (std::string_view{name} == "NvEncodeAPICreateInstance")
            return reinterpret_cast<AnyFunction>(+create);
        return reinterpret_cast<AnyFunction>(+newest);
    });
    int context = 0;
    return encoded_formats(*table, &context);
}

TEST(NvEnc, NeedsACapabilityForSamplesThatAreNotUsual) {
    has_all_caps = 1;
    const auto all = encoded();
    ASSERT_TRUE(all);
    EXPECT_EQ(all->size(), 3U) << "the codec is listed twice";
    EXPECT_TRUE(std::ranges::all_of(*all, is_of_its_profile));
    has_all_caps = 0;
    const auto usual = encoded();
    ASSERT_TRUE(usual);
    ASSERT_EQ(usual->size(), 1U);
    EXPECT_EQ(usual->front().profile, "high");
    EXPECT_EQ(usual->front().max_width, std::nullopt);
}

}  // namespace nvcodec_test
}  // namespace gpuprobe::backends::nvcodec
