// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "base/files.h"
#include "store/state_files.h"
#include "support/temporary_folder.h"

namespace gpuprobe::store {
namespace checked_file_test {

using support::TemporaryFolder;

class CheckedFileTest : public ::testing::Test {
protected:
    [[nodiscard]] Value document() const {
        Value value;
        value["answer"] = 42;
        return value;
    }
    [[nodiscard]] std::string content() const { return RootedFiles{}.read(path_, mib(1)).value(); }

    TemporaryFolder folder_ = {};
    std::string path_ = folder_.path() + "/file";
    CheckedFile file_{path_, "thing", 1, kib(1)};
};

TEST_F(CheckedFileTest, ReturnsWhatWasSaved) {
    ASSERT_TRUE(file_.save(document()));
    const auto loaded = file_.load();
    ASSERT_TRUE(loaded) << loaded.error().text;
    EXPECT_EQ(*loaded, document());
    EXPECT_EQ(content().substr(0, 17), "gpuprobe-thing 1 ");
}

TEST_F(CheckedFileTest, IsNotFoundBeforeTheFirstSave) {
    EXPECT_EQ(file_.load().error().code, ErrorCode::NotFound);
}

TEST_F(CheckedFileTest, RefusesAnotherKindAndAnotherVersion) {
    ASSERT_TRUE(file_.save(document()));
    EXPECT_EQ((CheckedFile{path_, "other", 1, kib(1)}.load().error().code), ErrorCode::Malformed);
    EXPECT_EQ((CheckedFile{path_, "thing", 2, kib(1)}.load().error().code), ErrorCode::Malformed);
}

TEST_F(CheckedFileTest, RefusesWhatIsOverItsLimit) {
    Value large;
    large["text"] = std::string(2000, 'x');
    ASSERT_TRUE(file_.save(large));
    EXPECT_EQ(file_.load().error().code, ErrorCode::TooLarge);
}

TEST_F(CheckedFileTest, RefusesEveryTruncationAndEveryFlippedByte) {
    ASSERT_TRUE(file_.save(document()));
    const auto whole = content();
    for (std::size_t at = 0; at < whole.size(); ++at) {
        folder_.write("file", whole.substr(0, at));
        EXPECT_FALSE(file_.load()) << "cut at " << at;
        auto damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
        folder_.write("file", damaged);
        EXPECT_FALSE(file_.load()) << "flipped at " << at;
    }
}

TEST_F(CheckedFileTest, SetsAsideWhatItCannotRead) {
    folder_.write("file", "precious");
    ASSERT_TRUE(file_.set_aside());
    ASSERT_TRUE(file_.save(document()));
    EXPECT_EQ(RootedFiles{}.read(path_ + ".broken", kib(1)).value(), "precious");
}

}  // namespace checked_file_test
}  // namespace gpuprobe::store
