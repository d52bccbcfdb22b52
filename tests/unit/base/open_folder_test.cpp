// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace open_folder_test {

using support::TemporaryFolder;

/// The uid of a user who owns no files on this machine.
constexpr uid_t kSomebody = 54321;

std::string text_of(const std::string& path) {
    return RootedFiles{}.read(path, kib(1)).value_or("(none)");
}

/// Tests of root in folders that belong to a user. Only root can run these tests, because only root
/// can give files to other users.
class RootAmongUsers : public ::testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "only root can give files to another user";
        root_.write("precious/file", "old");
        root_.folder("home");
        give("home");
    }

    void give(const std::string& name) const {
        ASSERT_EQ(::lchown(at(name).c_str(), kSomebody, kSomebody), 0);
    }
    void give_link(const std::string& name, const std::string& target) const {
        root_.link(name, target);
        give(name);
    }
    [[nodiscard]] std::string at(const std::string& name) const {
        return root_.path() + "/" + name;
    }
    [[nodiscard]] ErrorCode named(const std::string& name) const {
        const auto folder = open_folder(at(name), FolderTrust::Named, MissingFolder::Make);
        return folder ? ErrorCode::Internal : folder.error().code;
    }
    [[nodiscard]] ErrorCode own(const std::string& name) const {
        const auto folder = open_folder(at(name), FolderTrust::Own, MissingFolder::Make);
        return folder ? ErrorCode::Internal : folder.error().code;
    }

    static constexpr ErrorCode kOpened = ErrorCode::Internal;
    TemporaryFolder root_ = {};
};

TEST_F(RootAmongUsers, FollowsNoLinkOfTheirsAtAnyLevel) {
    give_link("home/.cache", at("precious"));
    root_.folder("other/.cache");
    give("other/.cache");
    give_link("other/.cache/gpuprobe", "../../precious");
    give_link("link", at("precious"));
    for (const auto* way : {"home/.cache/gpuprobe", "other/.cache/gpuprobe", "link", "link/sub"}) {
        EXPECT_EQ(named(way), ErrorCode::PermissionDenied) << way;
        EXPECT_EQ(own(way), ErrorCode::PermissionDenied) << way;
        EXPECT_FALSE(write_atomically(at(way) + "/file", "new")) << way;
        EXPECT_FALSE(write_scratch(at(way) + "/file", "new")) << way;
        EXPECT_FALSE(lock_file(at(way) + "/lock")) << way;
        EXPECT_FALSE(remove_file(at(way) + "/file")) << way;
        EXPECT_FALSE(rename_file(at("precious/file"), at(way) + "/moved")) << way;
        EXPECT_FALSE(write_atomically_from(at(way), at("precious/file"), "new")) << way;
    }
    EXPECT_EQ(text_of(at("precious/file")), "old");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{at("precious")}, {}), 1);
}

TEST_F(RootAmongUsers, FollowsNoLinkThatTheyCouldHaveMoved) {
    root_.link("home/link", at("precious"));  // the link belongs to root
    EXPECT_EQ(named("home/link"), ErrorCode::PermissionDenied);
    root_.folder("open");
    ASSERT_EQ(::chmod(at("open").c_str(), 0777), 0);
    root_.link("open/link", at("precious"));
    EXPECT_EQ(named("open/link"), ErrorCode::PermissionDenied);
    EXPECT_EQ(named("open/../open/link"), ErrorCode::PermissionDenied);
}

TEST_F(RootAmongUsers, FollowsItsOwnLinks) {
    root_.link("link", "precious");
    EXPECT_EQ(named("link"), kOpened);
    EXPECT_TRUE(write_atomically(at("link/file"), "new"));
    EXPECT_EQ(text_of(at("precious/file")), "new");
    root_.folder("sticky");
    ASSERT_EQ(::chmod(at("sticky").c_str(), 01777), 0);
    root_.link("sticky/link", "../precious");
    EXPECT_EQ(named("sticky/link"), kOpened);
    give_link("sticky/theirs", "../precious");
    EXPECT_EQ(named("sticky/theirs"), ErrorCode::PermissionDenied);
}

TEST_F(RootAmongUsers, KeepsNothingOfItsOwnInTheirFolders) {
    EXPECT_EQ(own("home"), ErrorCode::PermissionDenied);
    EXPECT_EQ(own("home/.cache/gpuprobe"), ErrorCode::PermissionDenied);
    EXPECT_FALSE(std::filesystem::exists(at("home/.cache")));
    root_.folder("open");
    ASSERT_EQ(::chmod(at("open").c_str(), 0777), 0);
    EXPECT_EQ(own("open/gpuprobe"), ErrorCode::PermissionDenied);
    EXPECT_EQ(own("fine/gpuprobe"), kOpened);
    struct stat info = {};
    ASSERT_EQ(::stat(at("fine/gpuprobe").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
}

/// The situation of "sudo gpuprobectl bench --plot FILE" in a user's home folder.
TEST_F(RootAmongUsers, WritesWhereItsCallerSaysWithoutReplacingTheTargetOfALink) {
    give_link("home/plot.svg", at("precious/file"));
    ASSERT_EQ(::mkfifo(at("home/fifo").c_str(), 0600), 0);
    ASSERT_EQ(::link(at("precious/file").c_str(), at("home/hard").c_str()), 0);
    for (const auto* name : {"home/plot.svg", "home/fifo", "home/hard", "home/new"})
        EXPECT_TRUE(write_atomically(at(name), "drawn")) << name;
    EXPECT_EQ(text_of(at("precious/file")), "old");
    EXPECT_EQ(text_of(at("home/fifo")), "drawn");
    EXPECT_FALSE(lock_file(at("home/plot.svg.lock")).value_or(UniqueFd{}).get() < 0);
}

/// The opened folder is used even if its path later leads to another folder.
TEST_F(RootAmongUsers, StaysInAFolderThatIsExchanged) {
    root_.folder("home/target");
    give("home/target");
    const auto folder = open_folder(at("home/target"), FolderTrust::Named);
    ASSERT_TRUE(folder);
    std::filesystem::rename(at("home/target"), at("home/away"));
    give_link("home/target", at("precious"));
    const UniqueFd file{
        ::open((folder->path + "/file").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    EXPECT_TRUE(file);
    EXPECT_EQ(text_of(at("precious/file")), "old");
    EXPECT_TRUE(std::filesystem::exists(at("home/away/file")));
}

TEST(OpenFolder, NamesTheFolderAtFault) {
    const TemporaryFolder root;
    root.write("file", "");
    EXPECT_EQ(open_folder(root.path() + "/none", FolderTrust::Named).error().text,
              root.path() + "/none: No such file or directory");
    EXPECT_EQ(open_folder(root.path() + "/file", FolderTrust::Named).error().text,
              root.path() + "/file: Not a directory");
    EXPECT_EQ(write_atomically(root.path() + "/none/file", "").error().text,
              root.path() + "/none/file: No such file or directory");
    root.link("a", "b");
    root.link("b", "a");
    EXPECT_EQ(open_folder(root.path() + "/a", FolderTrust::Named).error().code, ErrorCode::Io);
}

TEST(OpenFolder, TakesRelativePaths) {
    const TemporaryFolder root;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(root.path());
    EXPECT_TRUE(write_atomically("file", "new"));
    EXPECT_TRUE(open_folder("a/b", FolderTrust::Own, MissingFolder::Make));
    EXPECT_TRUE(write_atomically("a/../a/b/file", "new"));
    std::filesystem::current_path(before);
    EXPECT_EQ(text_of(root.path() + "/file"), "new");
    EXPECT_EQ(text_of(root.path() + "/a/b/file"), "new");
}

}  // namespace open_folder_test
}  // namespace gpuprobe
