// SPDX-License-Identifier: Apache-2.0
#include <climits>

#include <gtest/gtest.h>

#include "backends/hip/hip.h"

namespace gpuprobe::backends {
namespace hsa_test {

using Text = std::optional<std::string>;

struct TextCase {
    const char* name;
    const char* text;
    Text want;
};
void PrintTo(const TextCase& row, std::ostream* out) {
    *out << row.name;
}

class ReadARocmUuid : public testing::TestWithParam<TextCase> {};
TEST_P(ReadARocmUuid, AsHsaOrHipPrintIt) {
    EXPECT_EQ(rocm_uuid(GetParam().text), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Table,
    ReadARocmUuid,
    testing::Values(TextCase{"Hsa", "GPU-0123456789abcdef", "GPU-0123456789abcdef"},
                    TextCase{"Hip", "0123456789abcdef", "GPU-0123456789abcdef"},
                    TextCase{"UpperCase", "GPU-0123456789ABCDEF", "GPU-0123456789abcdef"},
                    TextCase{"Unsupported", "GPU-XX", std::nullopt},
                    TextCase{"Zero", "GPU-0000000000000000", std::nullopt},
                    TextCase{"OneDigitShort", "GPU-0123456789abcde", std::nullopt},
                    TextCase{"OneDigitMore", "GPU-0123456789abcdef0", std::nullopt},
                    TextCase{"OtherLetter", "GPU-0123456789abcdeg", std::nullopt},
                    TextCase{"Processor", "CPU-0123456789abcdef", std::nullopt},
                    TextCase{"Empty", "", std::nullopt}),
    [](const auto& row) { return row.param.name; });

TEST(RocmAddress, LeavesOutThePartition) {
    EXPECT_EQ(text_of(rocm_address(0, 0xc100)), "0000:c1:00.0");
    EXPECT_EQ(text_of(rocm_address(1, 0x2000c1ff)), "0001:c1:1f.7");
    EXPECT_EQ(text_of(rocm_address(0x10000, 0)), "10000:00:00.0");
}

TEST(HipVersion, IsThreeNumbersInOne) {
    EXPECT_EQ(hip_version_text(60140092), "6.1.40092");
    EXPECT_EQ(hip_version_text(50221153), "5.2.21153");
    EXPECT_EQ(hip_version_text(1), "0.0.1");
    EXPECT_EQ(hip_version_text(0), std::nullopt);
    EXPECT_EQ(hip_version_text(INT_MIN), std::nullopt);
}

}  // namespace hsa_test
}  // namespace gpuprobe::backends
