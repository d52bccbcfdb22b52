// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/level_zero/level_zero.h"
namespace gpuprobe::backends {
namespace level_zero_facts_test {

constexpr std::uint32_t kAllBits = 0xffffffff;

TEST(LevelZeroVersions, AreUnpackedAsTheyArePacked) {
    EXPECT_EQ(level_zero_version(0x10006), "1.6");
    EXPECT_EQ(level_zero_version(kAllBits), "65535.65535");
    EXPECT_EQ(level_zero_driver_version(0x0106832a), "1.6.33578");
    EXPECT_EQ(level_zero_driver_version(kAllBits), "255.255.65535");
}

TEST(LevelZeroVersions, AreUnknownWhenZero) {
    EXPECT_EQ(level_zero_version(0), std::nullopt);
    EXPECT_EQ(level_zero_driver_version(0), std::nullopt);
}

TEST(LevelZeroKinds, KeepNpusApartFromGpus) {
    EXPECT_EQ(level_zero_type(ZE_DEVICE_TYPE_GPU, 0), DeviceType::Discrete);
    EXPECT_EQ(level_zero_type(ZE_DEVICE_TYPE_GPU, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED),
              DeviceType::Integrated);
    EXPECT_EQ(level_zero_type(ZE_DEVICE_TYPE_CPU, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED),
              DeviceType::Cpu);
    EXPECT_EQ(level_zero_type(ZE_DEVICE_TYPE_VPU, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED),
              DeviceType::Other);
    EXPECT_EQ(level_zero_type(ze_device_type_t{}, 0), std::nullopt);
    EXPECT_EQ(level_zero_kind_word(ZE_DEVICE_TYPE_VPU), "npu");
    EXPECT_EQ(level_zero_kind_word(static_cast<ze_device_type_t>(6)), "6");
    EXPECT_EQ(level_zero_kind_word(ze_device_type_t{}), std::nullopt);
}

TEST(LevelZeroRefusal, DistinguishesAbsenceFromFailure) {
    const auto absent = level_zero_refusal("level_zero", "zeInit", ZE_RESULT_ERROR_UNINITIALIZED);
    EXPECT_EQ(absent.outcome, Outcome::Absent);
    EXPECT_EQ(absent.note, "zeInit: ZE_RESULT_ERROR_UNINITIALIZED (0x78000001)");
    const auto failed = level_zero_refusal("level_zero", "zeInit", 0x7ffffffe);
    EXPECT_EQ(failed.outcome, Outcome::Failed);
    EXPECT_EQ(failed.note, "zeInit: unknown code (0x7ffffffe)");
    EXPECT_EQ(failed.reasons.at(0).code, "api-refused");
}

}  // namespace level_zero_facts_test
}  // namespace gpuprobe::backends
