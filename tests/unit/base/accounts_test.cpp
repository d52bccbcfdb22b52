// SPDX-License-Identifier: Apache-2.0
#include "base/accounts.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

TEST(Accounts, HaveNames) {
    EXPECT_EQ(user_name(0), "root");
    EXPECT_EQ(group_name(0), "root");
}

TEST(Accounts, AreUnknownWithoutAName) {
    constexpr unsigned kNobodyHasIt = 4'000'000'000;
    EXPECT_EQ(user_name(kNobodyHasIt), std::nullopt);
    EXPECT_EQ(group_name(kNobodyHasIt), std::nullopt);
}

}  // namespace
}  // namespace gpuprobe
