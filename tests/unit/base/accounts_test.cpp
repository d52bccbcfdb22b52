// SPDX-License-Identifier: Apache-2.0
#include "base/accounts.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace accounts_test {

TEST(Accounts, HaveNames) {
    EXPECT_EQ(user_name(0), "root");
    EXPECT_EQ(group_name(0), "root");
}

TEST(Accounts, AreUnknownWithoutAName) {
    constexpr unsigned kNobodyHasIt = 4'000'000'000;
    EXPECT_EQ(user_name(kNobodyHasIt), std::nullopt);
    EXPECT_EQ(group_name(kNobodyHasIt), std::nullopt);
}

TEST(Accounts, CanBeListed) {
    const auto all = accounts();
    const auto root = std::ranges::find(all, "root", &Account::name);
    ASSERT_NE(root, all.end());
    EXPECT_EQ(root->uid, 0U);
    EXPECT_EQ(home_of(0), root->home);
    EXPECT_EQ(home_of(4'000'000'000), std::nullopt);
}

}  // namespace accounts_test
}  // namespace gpuprobe
