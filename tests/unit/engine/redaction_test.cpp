// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/capture.h"

namespace gpuprobe::engine {
namespace {

TEST(Redaction, NumbersUuidsAndKeepsEqualOnesEqual) {
    Redaction redaction;
    EXPECT_EQ(redaction.masked("GPU-80085d7a-5b7a-730a-fa19-3e8d3c64b84f,"
                               "80085D7A-5B7A-730A-FA19-3E8D3C64B84F"),
              "GPU-00000000-0000-4000-8000-000000000001,00000000-0000-4000-8000-000000000001");
    EXPECT_EQ(redaction.masked("12345678-1234-1234-1234-123456789abc"),
              "00000000-0000-4000-8000-000000000002");
}

TEST(Redaction, NumbersUniqueIds) {
    EXPECT_EQ(Redaction{}.masked("GPU-f08d1ef4ad0d2a3b\n"), "GPU-a000000000000001\n");
}

TEST(Redaction, NumbersTheDecimalUniqueIdOfKfdAlike) {
    Redaction redaction;
    EXPECT_EQ(redaction.masked("simd_count 304\nunique_id 17333131577230011963\nnum_xcc 1\n"),
              "simd_count 304\nunique_id 11529215046068469761\nnum_xcc 1\n");
    EXPECT_EQ(redaction.masked("GPU-f08ba755a9e6ae3b"), "GPU-a000000000000001");
    EXPECT_EQ(redaction.masked("unique_id 0\n"), "unique_id 0\n");
    EXPECT_EQ(redaction.masked("unique_id 99999999999999999999999"),
              "unique_id 99999999999999999999999");
}

TEST(Redaction, LeavesTheNumbersOfADocumentAlone) {
    Value document;
    document["at_usec"] = 1795227500330250;
    document["uuid"] = "GPU-80085d7a-5b7a-730a-fa19-3e8d3c64b84f";
    const auto clean = Redaction{}.masked_document(document);
    EXPECT_EQ(clean.at("at_usec"), document.at("at_usec"));
    EXPECT_EQ(*clean.at("uuid").as_string(), "GPU-00000000-0000-4000-8000-000000000001");
}

TEST(Redaction, LeavesWhatIdentifiesNoCard) {
    for (const auto* text :
         {"0x0000104002000000 0x0000104002ffffff 0x000000000014220c",
          "pci:v000010DEd00002335sv000010DEsd000018BFbc03sc02i00", "0000:00:06.0", "1234567890123",
          "12345678-1234-1234-1234-123456789ab", "12345678-1234-1234-1234-123456789abcd", ""})
        EXPECT_EQ(Redaction{}.masked(text), text);
}

}  // namespace
}  // namespace gpuprobe::engine
