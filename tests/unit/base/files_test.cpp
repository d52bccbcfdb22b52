// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <sys/stat.h>

#include "support/temporary_folder.h"

namespace gpuprobe {
namespace files_test {

using support::TemporaryFolder;

TEST(RootedFiles, ReadsAFileBelowTheRoot) {
    const TemporaryFolder root;
    root.write("sys/vendor", "0x10de\n");
    const RootedFiles files{root.path()};
    EXPECT_EQ(files.read("/sys/vendor", kib(1)).value(), "0x10de\n");
    EXPECT_EQ(files.line("/sys/vendor"), "0x10de");
}

TEST(RootedFiles, AcceptsAFileOfExactlyTheLimitAndRefusesOneByteMore) {
    const TemporaryFolder root;
    root.write("eight", "12345678");
    const RootedFiles files{root.path()};
    EXPECT_TRUE(files.read("/eight", Bytes{8}));
    EXPECT_EQ(files.read("/eight", Bytes{7}).error().code, ErrorCode::TooLarge);
}

TEST(RootedFiles, KeepsAbsoluteLinksWithinTheRoot) {
    const TemporaryFolder root;
    root.write("etc/real", "inside");
    root.link("sys/link", "/etc/real");
    const RootedFiles files{root.path()};
    EXPECT_EQ(files.read("/sys/link", kib(1)).value(), "inside");
    EXPECT_EQ(files.real_path("/sys/link").value(), "/etc/real");
}

TEST(RootedFiles, DoesNotClimbOutOfTheRoot) {
    const TemporaryFolder root;
    root.link("escape", "../../../../../../etc/passwd");
    const RootedFiles files{root.path()};
    EXPECT_EQ(files.read("/escape", kib(64)).error().code, ErrorCode::NotFound);
    EXPECT_EQ(files.read("/../../etc/passwd", kib(64)).error().code, ErrorCode::NotFound);
}

TEST(RootedFiles, NamesTheFileAndTheReason) {
    const TemporaryFolder root;
    const RootedFiles files{root.path()};
    EXPECT_EQ(files.read("/none", kib(1)).error().text, "/none: No such file or directory");
}

TEST(RootedFiles, EndsALoopOfLinks) {
    const TemporaryFolder root;
    root.link("a", "b");
    root.link("b", "a");
    EXPECT_EQ(RootedFiles{root.path()}.read("/a", kib(1)).error().code, ErrorCode::Io);
}

TEST(RootedFiles, RefusesAFifoWithoutWaitingForAWriter) {
    const TemporaryFolder root;
    ASSERT_EQ(::mkfifo((root.path() + "/fifo").c_str(), 0600), 0);
    EXPECT_EQ(RootedFiles{root.path()}.read("/fifo", kib(1)).error().code, ErrorCode::Io);
}

TEST(RootedFiles, ListsNamesInOrder) {
    const TemporaryFolder root;
    root.write("d/b", "");
    root.write("d/a", "");
    EXPECT_EQ(RootedFiles{root.path()}.list("/d").value(), (std::vector<std::string>{"a", "b"}));
}

TEST(WriteAtomically, ReplacesTheFileAndLeavesNothingElse) {
    for (auto* write : {write_atomically, write_scratch}) {
        const TemporaryFolder root;
        root.write("cache", "old");
        ASSERT_TRUE(write(root.path() + "/cache", "new", 0600));
        const RootedFiles files{root.path()};
        EXPECT_EQ(files.read("/cache", kib(1)).value(), "new");
        EXPECT_EQ(files.list("/").value(), std::vector<std::string>{"cache"});
        EXPECT_EQ(files.status("/cache").value().mode & 0777, 0600u);
        EXPECT_FALSE(write(root.path() + "/none/file", "", 0600));
    }
}

TEST(WriteAtomically, StartsElsewhereWhereAReaderTakesNoticeOfEverything) {
    const TemporaryFolder root;
    root.write("read/file", "old");
    root.write(".file.new-abcdef", "what a writer left that was killed");
    ASSERT_TRUE(write_atomically_from(root.path(), root.path() + "/read/file", "new"));
    const RootedFiles files{root.path()};
    EXPECT_EQ(files.read("/read/file", kib(1)).value(), "new");
    EXPECT_EQ(files.list("/").value(), std::vector<std::string>{"read"});
    EXPECT_EQ(files.list("/read").value(), std::vector<std::string>{"file"});
    EXPECT_FALSE(write_atomically_from(root.path() + "/nowhere", root.path() + "/a", "x"));
}

TEST(WriteAtomically, ReportsWhyItFailed) {
    const auto status = write_atomically("/nonexistent/folder/file", "x");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::NotFound);
    EXPECT_EQ(status.error().text, "/nonexistent/folder/file: No such file or directory");
}

}  // namespace files_test
}  // namespace gpuprobe
