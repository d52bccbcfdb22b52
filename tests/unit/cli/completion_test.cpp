// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/help.h"

namespace gpuprobe {
namespace completion_test {

using Words = std::vector<std::string>;

Words offered(const Words& words) {
    Words offers;
    for (const auto& offer : completion_of(words).offers)
        offers.push_back(offer.word);
    return offers;
}

TEST(Completion, AVerbComesFirstAndOnce) {
    EXPECT_EQ(offered({"stat"}), Words{"status"});
    EXPECT_EQ(offered({"-q", "--json", "short", "stat"}), Words{"status"});
    EXPECT_EQ(offered({"list", "stat"}), Words{});
    EXPECT_EQ(offered({"help", "stat"}), Words{"status"});
    EXPECT_EQ(offered({"nonsense", "x"}), Words{});
    EXPECT_EQ(offered({}), Words{});
}

TEST(Completion, AVerbHasItsGroup) {
    EXPECT_EQ(completion_of({"stat"}).offers.front().group, "Ask");
    EXPECT_EQ(completion_of({"quar"}).offers.front().group, "Administer");
    EXPECT_EQ(completion_of({"select", "--expl"}).offers.front().group, "");
}

TEST(Completion, AnOptionBelongsToItsVerb) {
    EXPECT_EQ(offered({"select", "--expl"}), Words{"--explain"});
    EXPECT_EQ(offered({"list", "--expl"}), Words{});
    EXPECT_EQ(offered({"select", "--bui"}), Words{"--built="});
    EXPECT_EQ(offered({"-q"}), Words{"-q"});
}

TEST(Completion, AValueMayFollowASpaceOrAnEqualsSign) {
    EXPECT_EQ(offered({"--json=p"}), Words{"--json=pretty"});
    EXPECT_EQ(offered({"--json", "p"}), Words{"pretty"});
    EXPECT_EQ(offered({"--colour=n"}), Words{"--colour=never"});
    EXPECT_EQ(offered({"--quiet=x"}), Words{});
    EXPECT_EQ(offered({"--unknown=x"}), Words{});
}

TEST(Completion, AListIsCompletedWithNewItemsOnly) {
    EXPECT_EQ(offered({"select", "--only=cuda,c"}), Words{"--only=cuda,cpu"});
    const auto completion = completion_of({"select", "--exclude=cuda,pci:0"});
    EXPECT_EQ(completion.lead, "--exclude=cuda,");
    EXPECT_EQ(completion.begun, "pci:0");
    const auto offers = offers_of(completion, {{.word = "pci:0000:01:00.0"}, {.word = "usb:1"}});
    ASSERT_EQ(offers.size(), 1U);
    EXPECT_EQ(offers.front().word, "--exclude=cuda,pci:0000:01:00.0");
}

TEST(Completion, NamesFollowThePlace) {
    EXPECT_EQ(completion_of({"show", ""}).names, kGpus);
    EXPECT_EQ(completion_of({"show", "0", ""}).names, kGpus);
    EXPECT_EQ(completion_of({"describe", "0", ""}).names, kNoNames);
    EXPECT_EQ(completion_of({"env", ""}).names, kGpus | kApplications);
    EXPECT_EQ(completion_of({"recommend", ""}).names, kManifests);
    EXPECT_EQ(completion_of({"export", ""}).names, kNoNames);
    EXPECT_EQ(completion_of({"export", "pip", ""}).names, kManifests);
    EXPECT_EQ(completion_of({"override", "set", ""}).names, kApplications);
    EXPECT_EQ(offered({"report-outcome", "tsuku", ""}), (Words{"ok", "failed"}));
    EXPECT_EQ(completion_of({"recommend", "x", "--manifest="}).names, kFiles);
    EXPECT_EQ(completion_of({"capture", ""}).names, kFolders);
}

TEST(Completion, UsesTheDaemonThatTheLineNames) {
    EXPECT_EQ(completion_of({"--socket=there", "show", ""}).arguments.socket, "there");
    EXPECT_EQ(completion_of({"show", "--replay", "here", ""}).arguments.replay, "here");
    EXPECT_EQ(completion_of({"--applications=a", "--applications", "b", "select", ""})
                  .arguments.application_folders,
              (Words{"a", "b"}));
}

}  // namespace completion_test
}  // namespace gpuprobe
