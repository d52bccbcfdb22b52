// SPDX-License-Identifier: Apache-2.0
#include "policy/profile_set.h"

#include <gtest/gtest.h>

#include "policy/builtin_profiles.h"

namespace gpuprobe {
namespace {

std::string profile_named(std::string_view name, bool strict = false) {
    return R"({"schema":1,"name":")" + std::string{name} +
           R"(","description":"","backends":["vulkan","cpu"],"cpu":"last",)"
           R"("integrated":"always","strict":)" +
           (strict ? "true}" : "false}");
}

TEST(ProfileSet, HasTheBuiltInProfiles) {
    const auto set = ProfileSet::with_builtins();
    ASSERT_TRUE(set) << set.error().text;
    EXPECT_NE(set->find("default"), nullptr);
    EXPECT_EQ(set->find("nobody"), nullptr);
    EXPECT_EQ(set->names().size(), builtin_profiles().size());
}

TEST(ProfileSet, NamesEachBuiltInProfileAsItsFile) {
    for (const auto& builtin : builtin_profiles()) {
        const auto profile = parse_profile(builtin.json);
        ASSERT_TRUE(profile) << builtin.name << ": " << profile.error().text;
        EXPECT_EQ(profile->name, builtin.name);
        EXPECT_EQ(builtin_profile(builtin.name), builtin.json);
    }
    EXPECT_EQ(builtin_profile("nobody"), "");
}

TEST(ProfileSet, SortsItsNames) {
    ProfileSet set;
    ASSERT_TRUE(set.add(profile_named("b"), "b.json"));
    ASSERT_TRUE(set.add(profile_named("a"), "a.json"));
    EXPECT_EQ(set.names(), (std::vector<std::string>{"a", "b"}));
}

TEST(ProfileSet, LetsALaterProfileReplaceAnEarlierOne) {
    ProfileSet set;
    ASSERT_TRUE(set.add(profile_named("a", false), "one"));
    ASSERT_TRUE(set.add(profile_named("a", true), "two"));
    EXPECT_TRUE(set.find("a")->strict);
    EXPECT_EQ(set.names().size(), 1U);
}

TEST(ProfileSet, KeepsWhatItHasWhenATextIsBroken) {
    ProfileSet set;
    ASSERT_TRUE(set.add(profile_named("a"), "one"));
    const auto added = set.add("{", "/etc/gpuprobe/profiles.d/a.json");
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::Malformed);
    EXPECT_TRUE(added.error().text.starts_with("/etc/gpuprobe/profiles.d/a.json: profile: "));
    EXPECT_NE(set.find("a"), nullptr);
}

TEST(ProfileSet, HasALimit) {
    ProfileSet set;
    for (std::size_t i = 0; i < kMaxProfiles; ++i)
        ASSERT_TRUE(set.add(profile_named("p" + std::to_string(i)), "x"));
    const auto added = set.add(profile_named("one-more"), "x");
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::TooLarge);
    EXPECT_TRUE(set.add(profile_named("p0", true), "x"));
}

}  // namespace
}  // namespace gpuprobe
