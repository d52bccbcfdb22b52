// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/value.h"
#include "probe/worker_answer.h"

namespace gpuprobe {
namespace frame_test {

std::vector<std::string> pieces() {
    FrameWriter writer;
    Value runtime;
    runtime["loader"] = Value{"libvulkan.so.1"};
    return {writer.phase("dlopen"), writer.runtime(runtime),
            writer.device(DeviceFacts{.index = 0, .name = "H200"}),
            writer.done(Outcome::Answered, "well", {Reason{.code = "x"}})};
}

std::string stream() {
    std::string bytes;
    for (const auto& piece : pieces())
        bytes += piece;
    return bytes;
}

/// A frame with any kind and payload, as a faulty worker might write it.
std::string raw(std::uint32_t kind, std::string_view payload) {
    std::string bytes;
    for (const auto number : {static_cast<std::uint32_t>(payload.size()), kind})
        for (int shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<char>((number >> shift) & 0xFFU));
    return bytes + std::string{payload};
}

std::vector<Frame> read_all(FrameReader& reader, std::string_view bytes) {
    reader.feed(bytes);
    std::vector<Frame> frames;
    while (auto frame = reader.next())
        frames.push_back(*std::move(frame));
    return frames;
}

TEST(Frames, AreReadAsTheyWereWritten) {
    FrameReader reader;
    const auto frames = read_all(reader, stream());
    ASSERT_EQ(frames.size(), 4U);
    EXPECT_EQ(frames[0].kind, FrameKind::Phase);
    EXPECT_EQ(json_line(frames[0].payload), R"({"name":"dlopen"})");
    EXPECT_EQ(json_line(frames[1].payload), R"({"loader":"libvulkan.so.1"})");
    EXPECT_EQ(frames[2].payload.at("name"), Value{"H200"});
    EXPECT_EQ(frames[3].kind, FrameKind::Done);
    EXPECT_EQ(json_line(frames[3].payload),
              R"({"outcome":"answered","note":"well","reasons":[{"code":"x","detail":{}}],)"
              R"("frames":3})");
    EXPECT_TRUE(reader.is_complete());
}

TEST(Frames, HaveAHeaderOfTwoLittleEndianNumbers) {
    const auto first = pieces()[0];
    EXPECT_EQ(first, raw(1, R"({"name":"dlopen"})"));
    EXPECT_EQ(first.substr(0, 8), std::string("\x11\0\0\0\1\0\0\0", 8));
}

TEST(FrameReader, BelievesNoKnownFrameAfterAChangedByte) {
    FrameWriter writer;
    const auto device = writer.device(DeviceFacts{.index = 0, .name = "H200"});
    const auto known = writer.known();
    for (std::size_t at = 0; at <= device.size(); ++at) {
        auto changed = device;
        if (at < device.size())
            changed[at] = static_cast<char>(changed[at] ^ 1);
        FrameReader reader;
        const auto frames = read_all(reader, changed + known);
        const bool is_known = !frames.empty() && frames.back().kind == FrameKind::Known;
        EXPECT_EQ(is_known, at == device.size()) << at;
    }
    EXPECT_EQ(json_line(read_all(*std::make_unique<FrameReader>(), device + known).back().payload),
              R"({"frames":1})");
}

TEST(FrameReader, TakesAStreamByteByByte) {
    FrameReader reader;
    std::size_t frames = 0;
    for (const char byte : stream())
        frames += read_all(reader, {&byte, 1}).size();
    EXPECT_EQ(frames, 4U);
    EXPECT_TRUE(reader.is_complete());
}

TEST(FrameReader, KeepsWholeFramesOfAStreamThatIsCutAnywhere) {
    const auto parts = pieces();
    const auto whole = stream();
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        FrameReader reader;
        const auto frames = read_all(reader, std::string_view{whole}.substr(0, cut));
        std::size_t expected = 0;
        for (std::size_t end = parts[0].size(); end <= cut; end += parts[expected].size())
            ++expected;
        EXPECT_EQ(frames.size(), expected) << cut;
        EXPECT_FALSE(reader.is_complete()) << cut;
        EXPECT_EQ(reader.problem(), std::nullopt) << cut;
    }
}

TEST(FrameReader, IsCompleteForNoStreamWithAChangedByte) {
    const auto whole = stream();
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const int change : {0x01, 0x02, 0x20, 0x80, 0xFF}) {
            auto bytes = whole;
            bytes[at] = static_cast<char>(bytes[at] ^ change);
            FrameReader reader;
            (void)read_all(reader, bytes);
            EXPECT_FALSE(reader.is_complete()) << at << " ^ " << change;
        }
}

TEST(FrameReader, IsCompleteForNoStreamWithoutOneOfItsFrames) {
    for (std::size_t missing = 0; missing < 4; ++missing) {
        std::string bytes;
        const auto parts = pieces();
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (i != missing)
                bytes += parts[i];
        FrameReader reader;
        (void)read_all(reader, bytes);
        EXPECT_FALSE(reader.is_complete()) << missing;
    }
}

TEST(FrameReader, RefusesBytesAfterTheEnd) {
    FrameReader at_once;
    (void)read_all(at_once, stream() + "x");
    EXPECT_EQ(at_once.problem(), "extra bytes at the end");
    FrameReader later;
    (void)read_all(later, stream());
    (void)read_all(later, stream());
    EXPECT_EQ(later.problem(), "extra bytes at the end");
    EXPECT_FALSE(later.is_complete());
}

struct BadStream {
    const char* name;
    std::string bytes;
    const char* problem;
};
void PrintTo(const BadStream& row, std::ostream* out) {
    *out << row.name;
}
class RefuseAStream : public testing::TestWithParam<BadStream> {};
TEST_P(RefuseAStream, SayingWhy) {
    FrameReader reader;
    EXPECT_TRUE(read_all(reader, GetParam().bytes).empty());
    EXPECT_EQ(reader.problem(), GetParam().problem);
    EXPECT_TRUE(read_all(reader, stream()).empty()) << "it must stay refused";
}
INSTANTIATE_TEST_SUITE_P(
    Table,
    RefuseAStream,
    testing::Values(BadStream{"KindZero", raw(0, "{}"), "a frame of unknown kind 0"},
                    BadStream{"KindSeven", raw(7, "{}"), "a frame of unknown kind 7"},
                    BadStream{"KnownWithoutASum", raw(6, "{}"), "wrong checksum"},
                    BadStream{"Text", "Segmentation fault\n", "a frame of 1835492691 bytes"},
                    BadStream{"OneByteTooLong", std::string("\1\0\x10\0\1\0\0\0", 8),
                              "a frame of 1048577 bytes"},
                    BadStream{"NoJson", raw(2, "{"), "a frame is not a JSON object"},
                    BadStream{"NoObject", raw(2, "[]"), "a frame is not a JSON object"},
                    BadStream{"EmptyPayload", raw(1, ""), "a frame is not a JSON object"},
                    BadStream{"DoneWithoutSum", raw(4, "{}"), "wrong checksum"},
                    BadStream{"DoneWithWrongSum", raw(4, R"({"outcome":"answered","frames":0})"),
                              "wrong checksum"}),
    [](const auto& row) { return row.param.name; });

TEST(FrameReader, WaitsForAFrameOfTheLargestSize) {
    FrameReader reader;
    (void)read_all(reader, std::string("\0\0\x10\0\1\0\0\0", 8));
    EXPECT_EQ(reader.problem(), std::nullopt);
}

TEST(FrameReader, TakesAtMost256Devices) {
    FrameReader reader;
    for (int i = 0; i < 256; ++i)
        EXPECT_EQ(read_all(reader, raw(3, "{}")).size(), 1U);
    EXPECT_TRUE(read_all(reader, raw(3, "{}")).empty());
    EXPECT_EQ(reader.problem(), "over 256 devices");
}

Value facts_of_an_api(int first, int count) {
    Value facts{Value::Object{}};
    for (int i = first; i < first + count; ++i)
        facts["fact" + std::to_string(i)] = i;
    return facts;
}

TEST(FrameReader, TakesAtMost4096FactsOfTheApi) {
    FrameReader reader;
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(read_all(reader, raw(2, json_line(facts_of_an_api(i, 512)))).size(), 1U);
    EXPECT_TRUE(read_all(reader, raw(2, R"({"one":1})")).empty());
    EXPECT_EQ(reader.problem(), "over 4096 facts of the API");
}

TEST(FrameWriter, WritesAtMost4096FactsOfTheApi) {
    FrameWriter writer;
    std::string bytes;
    for (int i = 0; i < 9; ++i)
        bytes += writer.runtime(facts_of_an_api(512 * i, 512));
    bytes += writer.done(Outcome::Answered, std::nullopt, {});
    FrameReader reader;
    EXPECT_EQ(read_all(reader, bytes).size(), 9U);
    EXPECT_TRUE(reader.is_complete());
}

TEST(FrameReader, TakesAtMostEightMebibytes) {
    FrameReader reader;
    const auto frame = raw(1, R"({"name":")" + std::string(65536 - 8 - 11, 'x') + "\"}");
    ASSERT_EQ(frame.size(), 65536U);
    for (int i = 0; i < 128; ++i)
        EXPECT_EQ(read_all(reader, frame).size(), 1U);
    EXPECT_EQ(reader.problem(), std::nullopt);
    EXPECT_TRUE(read_all(reader, "x").empty());
    EXPECT_EQ(reader.problem(), "over 8388608 bytes");
}

TEST(FrameWriter, LeavesOutWhatWouldBreakALimit) {
    FrameWriter writer;
    Value endless;
    endless["text"] = Value{std::string(kMaxFrame.count, 'x')};
    std::string bytes = writer.runtime(endless);
    EXPECT_EQ(bytes, "");
    bytes += writer.device(DeviceFacts{.name = "kept", .extra = endless});
    for (int i = 0; i < 90; ++i)
        bytes += writer.device(DeviceFacts{.name = std::string(100'000, 'x')});
    bytes += writer.done(Outcome::Failed, std::string(100'000, 'x'),
                         std::vector<Reason>(1000, Reason{.code = std::string(1000, 'x')}));
    EXPECT_LE(bytes.size(), kMaxFrames.count);
    FrameReader reader;
    const auto frames = read_all(reader, bytes);
    EXPECT_TRUE(reader.is_complete()) << reader.problem().value_or("");
    EXPECT_EQ(frames.front().payload.at("name"), Value{"kept"});
}

TEST(FrameWriter, WritesAtMost256Devices) {
    FrameWriter writer;
    std::string bytes;
    for (int i = 0; i < 1000; ++i)
        bytes += writer.device(DeviceFacts{});
    bytes += writer.done(Outcome::Answered, std::nullopt, {});
    FrameReader reader;
    EXPECT_EQ(read_all(reader, bytes).size(), 257U);
    EXPECT_TRUE(reader.is_complete());
}

}  // namespace frame_test
}  // namespace gpuprobe
