// SPDX-License-Identifier: Apache-2.0
#include "plan/gguf.h"

#include <limits>

#include <gtest/gtest.h>

#include "gguf_writer.h"
#include "support/case_name.h"
#include "support/places.h"

namespace gpuprobe {
namespace gguf_test {

using support::GgufWriter;

Result<std::optional<Gguf>> parse_whole(const std::string& bytes) {
    return parse_gguf(bytes, Bytes{bytes.size()});
}

TEST(Gguf, IsReadWithItsValuesAndTensors) {
    const auto bytes = GgufWriter{2, 6}
                           .words("general.architecture", "llama")
                           .number("llama.block_count", 2)
                           .list("llama.attention.head_count_kv", {8, 0})
                           .key("llama.rope.freq_base", 6)
                           .u32(0x461c4000)
                           .key("tokenizer.ggml.tokens", 9)
                           .u32(8)
                           .u64(2)
                           .text("<s>")
                           .text("")
                           .key("flag", 7)
                           .u8(1)
                           .tensor("token_embd.weight", {256, 4}, 12, 0)
                           .tensor("blk.0.weight", {32, 2, 3}, 8, 576)
                           .padded(32, 576 + 204)
                           .bytes();
    const auto gguf = parse_whole(bytes);
    ASSERT_TRUE(gguf) << gguf.error().text;
    ASSERT_TRUE(*gguf);
    EXPECT_EQ((*gguf)->version, 3U);
    EXPECT_EQ((*gguf)->text("general.architecture"), "llama");
    EXPECT_EQ((*gguf)->number("llama.block_count"), 2U);
    EXPECT_EQ((*gguf)->number("flag"), 1U);
    ASSERT_TRUE((*gguf)->list("llama.attention.head_count_kv"));
    EXPECT_EQ(*(*gguf)->list("llama.attention.head_count_kv"), (std::vector<std::int64_t>{8, 0}));
    EXPECT_FALSE((*gguf)->number("llama.rope.freq_base"));
    EXPECT_FALSE((*gguf)->number("llama.attention.head_count_kv"));
    EXPECT_EQ(
        (*gguf)->tensors,
        (std::vector<GgufTensor>{
            {.name = "token_embd.weight", .size = {576}, .rows = 4, .width = 256, .type = "q4_K"},
            {.name = "blk.0.weight", .size = {204}, .rows = 6, .width = 32, .type = "q8_0"}}));
}

TEST(Gguf, OfVersion2IsRead) {
    const auto bytes = GgufWriter{0, 1, 2}.number("a", 7).padded(32).bytes();
    const auto gguf = parse_whole(bytes);
    ASSERT_TRUE(gguf && *gguf);
    EXPECT_EQ((*gguf)->number("a"), 7U);
}

TEST(Gguf, KeepsSignsAndWidths) {
    const auto bytes = GgufWriter{0, 4}
                           .key("i8", 1)
                           .u8(0xff)
                           .key("i32", 5)
                           .u32(0xfffffffeU)
                           .key("u64", 10)
                           .u64(1ULL << 40U)
                           .key("huge", 10)
                           .u64(1ULL << 63U)
                           .padded(32)
                           .bytes();
    const auto gguf = parse_whole(bytes);
    ASSERT_TRUE(gguf && *gguf);
    EXPECT_EQ(std::get<std::int64_t>((*gguf)->values.at("i8")), -1);
    EXPECT_EQ(std::get<std::int64_t>((*gguf)->values.at("i32")), -2);
    EXPECT_FALSE((*gguf)->number("i32"));
    EXPECT_EQ((*gguf)->number("u64"), 1ULL << 40U);
    EXPECT_FALSE((*gguf)->number("huge"));
}

TEST(Gguf, DoesNotKeepUnneededValues) {
    const std::string long_text(kMaxGgufTextBytes + 1, 'x');
    const std::vector<std::uint32_t> long_list(kMaxGgufListItems + 1, 1);
    const auto bytes = GgufWriter{0, 4}
                           .words("kept", std::string(kMaxGgufTextBytes, 'x'))
                           .words("template", long_text)
                           .list("list", std::vector<std::uint32_t>(kMaxGgufListItems, 1))
                           .list("tokens", long_list)
                           .padded(32)
                           .bytes();
    const auto gguf = parse_whole(bytes);
    ASSERT_TRUE(gguf && *gguf);
    EXPECT_TRUE((*gguf)->text("kept"));
    EXPECT_FALSE((*gguf)->values.contains("template"));
    EXPECT_TRUE((*gguf)->list("list"));
    EXPECT_FALSE((*gguf)->values.contains("tokens"));
}

TEST(Gguf, TakesItsAlignmentFromTheFile) {
    const auto bytes = GgufWriter{1, 1}
                           .number("general.alignment", 64)
                           .tensor("a", {4}, 0, 64)
                           .padded(64, 80)
                           .bytes();
    EXPECT_TRUE(parse_whole(bytes));
}

TEST(Gguf, ScrubsItsTexts) {
    const auto bytes = GgufWriter{0, 1}.words("general.name", "a\x1b[31mb\xff").padded(32).bytes();
    const auto gguf = parse_whole(bytes);
    ASSERT_TRUE(gguf && *gguf);
    EXPECT_EQ((*gguf)->text("general.name"), "a\uFFFD[31mb\uFFFD");
}

struct BadRow {
    const char* name;
    GgufWriter file;
    const char* problem;
    ErrorCode code = ErrorCode::Malformed;
};
class BadGguf : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadGguf, IsRefusedWithThePosition) {
    const auto gguf = parse_whole(GetParam().file.bytes());
    ASSERT_FALSE(gguf);
    EXPECT_EQ(gguf.error().code, GetParam().code);
    EXPECT_EQ(gguf.error().text, GetParam().problem);
}

GgufWriter swapped() {
    return GgufWriter{0, 0, 0x03000000U};
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadGguf,
    ::testing::Values(
        BadRow{"Version1", GgufWriter{0, 0, 1},
               "byte 8: GGUF version 1 is not supported, only versions 2 and 3: convert the file "
               "again"},
        BadRow{"Version0", GgufWriter{0, 0, 0},
               "byte 8: GGUF version 0 is not supported, only versions 2 and 3"},
        BadRow{"Version4", GgufWriter{0, 0, 4},
               "byte 8: GGUF version 4 is not supported, only versions 2 and 3"},
        BadRow{"BigEndian", swapped(), "byte 8: big-endian GGUF files are unsupported"},
        BadRow{"TooManyTensors", GgufWriter{kMaxGgufTensors + 1, 0},
               "byte 16: 65537 tensors, but at most 65536 are supported", ErrorCode::TooLarge},
        BadRow{"NegativeTensors", GgufWriter{std::numeric_limits<std::uint64_t>::max(), 0},
               "byte 16: 18446744073709551615 tensors, but at most 65536 are supported",
               ErrorCode::TooLarge},
        BadRow{"TooManyKeys", GgufWriter{0, kMaxGgufKeys + 1},
               "byte 24: 4097 keys, but at most 4096 are supported", ErrorCode::TooLarge},
        BadRow{"KeyTwice", GgufWriter{0, 2}.number("a", 1).number("a", 1),
               "byte 50: the key a appears twice"},
        BadRow{"EmptyKey", GgufWriter{0, 1}.number("", 1), "byte 32: a key is not text"},
        BadRow{"KeyOfControls", GgufWriter{0, 1}.number("a\nb", 1), "byte 35: a key is not text"},
        BadRow{"KeyNotUtf8", GgufWriter{0, 1}.number("\xff", 1), "byte 33: a key is not text"},
        BadRow{"LongKey", GgufWriter{0, 1}.u64(kMaxGgufKeyBytes + 1),
               "byte 32: a key of 65536 bytes"},
        BadRow{"UnknownType", GgufWriter{0, 1}.key("a", 13), "byte 37: a has unknown type 13"},
        BadRow{"ListOfLists", GgufWriter{0, 1}.key("a", 9).u32(9).u64(1),
               "byte 49: a is a list of lists"},
        BadRow{"ListOfUnknown", GgufWriter{0, 1}.key("a", 9).u32(99).u64(0),
               "byte 49: a contains values of the unknown type 99"},
        BadRow{"HugeList", GgufWriter{0, 1}.key("a", 9).u32(10).u64(1ULL << 61U),
               "byte 49: the file ends within its header"},
        BadRow{"HugeListOfTexts", GgufWriter{0, 1}.key("a", 9).u32(8).u64(1ULL << 61U),
               "byte 49: the file ends within its header"},
        BadRow{"Text4GiB", GgufWriter{0, 1}.key("a", 8).u64(1ULL << 32U),
               "byte 45: a text of 4294967296 bytes"},
        BadRow{"TextOverTheEnd", GgufWriter{0, 1}.key("a", 8).u64(5).raw("four"),
               "byte 45: the file ends within its header"},
        BadRow{"HalfBoolean", GgufWriter{0, 1}.key("a", 7).u8(2),
               "byte 38: a boolean is neither 0 nor 1"},
        BadRow{"Alignment0", GgufWriter{0, 1}.number("general.alignment", 0),
               "byte 57: general.alignment is not a power of two up to 1048576"},
        BadRow{"Alignment48", GgufWriter{0, 1}.number("general.alignment", 48),
               "byte 57: general.alignment is not a power of two up to 1048576"},
        BadRow{"AlignmentTooLarge",
               GgufWriter{0, 1}.number("general.alignment", kMaxGgufAlignment * 2),
               "byte 57: general.alignment is not a power of two up to 1048576"},
        BadRow{"AlignmentAsText", GgufWriter{0, 1}.words("general.alignment", "32"),
               "byte 63: general.alignment is not a power of two up to 1048576"},
        BadRow{"NoDimensions", GgufWriter{1}.tensor("a", {}, 0, 0), "byte 37: a has 0 dimensions"},
        BadRow{"FiveDimensions", GgufWriter{1}.tensor("a", {1, 1, 1, 1, 1}, 0, 0),
               "byte 37: a has 5 dimensions"},
        BadRow{"UnknownTensorType", GgufWriter{1}.tensor("a", {4}, 4, 0),
               "byte 57: a has an unknown type"},
        BadRow{"HalfBlock", GgufWriter{1}.tensor("a", {255}, 12, 0),
               "byte 57: a has rows that end within a block of q4_K"},
        BadRow{"LongTensorName", GgufWriter{1}.u64(kMaxGgufNameBytes + 1),
               "byte 32: a tensor's name of 257 bytes"},
        BadRow{"TensorTwice", GgufWriter{2}.tensor("a", {1}, 0, 0).tensor("a", {1}, 0, 0),
               "byte 66: the tensor a appears twice"},
        BadRow{"TensorOutside", GgufWriter{1}.tensor("a", {4}, 0, 0).padded(32, 15),
               "byte 57: a ends at byte 80, but the file ends at byte 79"},
        BadRow{"TensorFarOutside", GgufWriter{1}.tensor("a", {4}, 0, 1ULL << 63U).padded(32, 16),
               "byte 57: a ends at byte 9223372036854775888, but the file ends at byte 80"},
        BadRow{"TensorOfOverflow",
               GgufWriter{1}.tensor("a", {1ULL << 62U, 1ULL << 62U}, 0, 0).padded(32, 16),
               "byte 65: a ends at byte 18446744073709551615, but the file ends at byte 112"},
        BadRow{"OffsetUnaligned", GgufWriter{1}.tensor("a", {4}, 0, 16).padded(32, 64),
               "byte 57: a is not aligned"},
        BadRow{"Overlap",
               GgufWriter{2}.tensor("a", {16}, 0, 0).tensor("b", {16}, 0, 0).padded(32, 64),
               "byte 90: the tensors overlap"}),
    support::case_name);

TEST(Gguf, IsNoOtherFile) {
    for (const auto* text : {"\x7f"
                             "ELF0000",
                             "GGML\3\0\0\0", "{\"gguf\":1}"}) {
        const auto gguf = parse_whole(text);
        ASSERT_FALSE(gguf);
        EXPECT_EQ(gguf.error().text, "byte 0: not a GGUF file");
    }
}

/// The header has only a few layers, because the tests read this header once for each byte.
std::string small_header() {
    constexpr std::uint64_t kLayers = 20;
    GgufWriter writer{1 + kLayers, 5};
    writer.words("general.architecture", "llama")
        .number("llama.block_count", kLayers)
        .number("llama.embedding_length", 256)
        .list("llama.attention.head_count_kv", {8, 0, 4})
        .words("general.name", "Small")
        .tensor("token_embd.weight", {256, 4}, 12, 0);
    for (std::uint64_t i = 0; i < kLayers; ++i)
        writer.tensor("blk." + std::to_string(i) + ".ffn_down.weight", {256, 2}, 12, 576 + 288 * i);
    return writer.padded(32).bytes();
}
constexpr Bytes kAnySize{std::numeric_limits<std::uint64_t>::max()};

TEST(Gguf, CutAtAnyByteIsShortOrWantsMore) {
    const auto whole = small_header();
    ASSERT_GT(whole.size(), 1000U);
    const auto padding = whole.size() - whole.find_last_not_of('\0');
    for (std::size_t length = 0; length + padding + 8 < whole.size(); ++length) {
        const auto start = std::string_view{whole}.substr(0, length);
        const auto as_file = parse_gguf(start, Bytes{length});
        ASSERT_FALSE(as_file) << length;
        EXPECT_EQ(as_file.error().code, ErrorCode::Malformed);
        const auto as_window = parse_gguf(start, kAnySize);
        ASSERT_TRUE(as_window) << length;
        EXPECT_FALSE(*as_window) << length;
    }
    const auto all = parse_gguf(whole, kAnySize);
    EXPECT_TRUE(all && *all);
}

TEST(Gguf, WithAnyByteChangedEndsWellOrIsRefused) {
    const auto whole = small_header();
    ASSERT_GT(whole.size(), 1000U);
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (const char change : {'\x01', '\x80', '\xff'}) {
            auto spoilt = whole;
            spoilt[i] = static_cast<char>(spoilt[i] ^ change);
            const auto gguf = parse_gguf(spoilt, Bytes{spoilt.size()});
            EXPECT_TRUE(gguf || !gguf.error().text.empty());
        }
}

TEST(GgmlType, OfACacheIsFoundByName) {
    ASSERT_TRUE(cache_type("q8_0"));
    EXPECT_EQ(cache_type("q8_0")->bytes, 34U);
    EXPECT_FALSE(cache_type("q4_K"));  // a valid type, but not for a cache
    EXPECT_FALSE(cache_type("Q8_0"));
    EXPECT_FALSE(cache_type(""));
}

TEST(GgmlType, RoundsARowUpToABlock) {
    const auto& q8 = *cache_type("q8_0");
    EXPECT_EQ(row_bytes(q8, 0), Bytes{0});
    EXPECT_EQ(row_bytes(q8, 1), Bytes{34});
    EXPECT_EQ(row_bytes(q8, 32), Bytes{34});
    EXPECT_EQ(row_bytes(q8, 33), Bytes{68});
    EXPECT_EQ(row_bytes(*ggml_type(0), std::numeric_limits<std::uint64_t>::max()).count,
              std::numeric_limits<std::uint64_t>::max());
}

TEST(GgmlType, ThatWasRemovedIsUnknown) {
    for (const std::uint32_t id : {4U, 5U, 31U, 36U, 43U})
        EXPECT_FALSE(ggml_type(id)) << id;
}

}  // namespace gguf_test
}  // namespace gpuprobe
