// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models.h"
#include "plan/need.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace cache_types_test {

using support::model_named;

struct TypesRow {
    const char* name;
    const char* architecture;
    std::uint64_t key_length;
    std::uint64_t value_length;  ///< 0: the values are a view of the keys
    const char* keys;
    const char* values;
    FlashAttention wish;
    const char* problem;  ///< after "request: kv: "; empty: llama.cpp accepts the types
};
class CacheTypes : public ::testing::TestWithParam<TypesRow> {};

/// Compares the results with llama.cpp v0.5.0 for models of these shapes.
TEST_P(CacheTypes, AreTakenOrRefusedAsByTheRuntime) {
    const auto& row = GetParam();
    auto model = model_named("llama-3.1-8b");
    model.architecture = row.architecture;
    for (auto& layer : model.layers) {
        layer.key_length = row.key_length;
        layer.value_length = row.value_length;
    }
    const auto status = check_cache_types(
        model, {.keys = *cache_type(row.keys), .values = *cache_type(row.values)}, row.wish);
    EXPECT_EQ(status ? "" : status.error().text,
              *row.problem == '\0' ? "" : "request: kv: " + std::string{row.problem});
    EXPECT_TRUE(status || status.error().code == ErrorCode::InvalidRequest);
}

constexpr auto kAuto = FlashAttention::Auto;
constexpr auto kOn = FlashAttention::On;
constexpr auto kOff = FlashAttention::Off;
INSTANTIATE_TEST_SUITE_P(
    Table,
    CacheTypes,
    ::testing::Values(
        TypesRow{"Quantized", "llama", 128, 128, "q8_0", "q8_0", kAuto, ""},
        TypesRow{"Different", "llama", 128, 128, "q8_0", "q4_0", kOn, ""},
        TypesRow{"ValuesWithoutFlashAttention", "llama", 128, 128, "q8_0", "q4_0", kOff,
                 "values in q4_0 need flash attention"},
        TypesRow{"KeysWithoutFlashAttention", "llama", 128, 128, "q8_0", "f16", kOff, ""},
        TypesRow{"ValuesOfGrok", "grok", 128, 128, "q8_0", "q8_0", kOn,
                 "values in q8_0 need flash attention, but grok does not support it; use f16"},
        TypesRow{"KeysOfGrok", "grok", 80, 80, "q8_0", "f16", kAuto, ""},
        TypesRow{"Latent", "deepseek2", 576, 0, "q8_0", "q8_0", kAuto, ""},
        TypesRow{
            "LatentAndDifferent", "deepseek2", 576, 0, "q8_0", "f16", kOff,
            "this model takes the values from the keys, so keys and values need the same type: "
            "q8_0 or f16"},
        TypesRow{"LatentButExpanded", "deepseek2", 192, 128, "q8_0", "f16", kAuto, ""},
        TypesRow{"OddKeys", "phi2", 80, 80, "q8_0", "f16", kAuto,
                 "keys in q8_0 have blocks of 32, but the head size is 80; f16 works with any "
                 "head size"},
        TypesRow{"OddKeysWithoutFlashAttention", "phi2", 80, 80, "q8_0", "f16", kOff, ""},
        TypesRow{"OddValues", "phi2", 80, 80, "f16", "q8_0", kAuto,
                 "values in q8_0 have blocks of 32, but the head size is 80; f16 works with any "
                 "head size"}),
    support::case_name);

}  // namespace cache_types_test
}  // namespace gpuprobe
