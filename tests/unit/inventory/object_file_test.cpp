// SPDX-License-Identifier: Apache-2.0
#include "inventory/object_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/inventory/text_pieces.h"

namespace gpuprobe {
namespace object_file_test {

UniqueFd own_program() {
    return UniqueFd{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
}

std::uint64_t size_of(const UniqueFd& fd) {
    struct stat status {};
    EXPECT_EQ(::fstat(fd.get(), &status), 0);
    return static_cast<std::uint64_t>(status.st_size);
}

TEST(ObjectFiles, ReportTheNeedsOfAProgram) {
    auto fd = own_program();
    const auto size = size_of(fd);
    ReadAllowance allowance;
    FilePieces file{std::move(fd), size, allowance};
    const auto object = read_object(file, ReadDepth::Code);
    ASSERT_TRUE(object) << object.error().text;
    ASSERT_TRUE(*object);
    EXPECT_NE(std::ranges::find((*object)->needed, "libc.so.6"), (*object)->needed.end());
    EXPECT_TRUE((*object)->glibc);
    EXPECT_EQ((*object)->code, std::set<std::string>{});
}

TEST(ObjectFiles, MayBeCutAnywhere) {
    auto fd = own_program();
    const auto size = size_of(fd);
    std::string start(8192, '\0');
    ASSERT_EQ(::pread(fd.get(), start.data(), start.size(), 0), 8192);
    for (std::size_t length = 0; length < start.size(); length += length < 128 ? 1 : 61) {
        TextPieces file{start.substr(0, length)};
        const auto object = read_object(file, ReadDepth::Code);
        EXPECT_TRUE(!object || !*object || (*object)->needed.empty());
    }
    // A file that became shorter after its size was read.
    ReadAllowance allowance;
    FilePieces longer{std::move(fd), size * 2, allowance};
    EXPECT_EQ(longer.read(size * 2 - 10, 10).value_or("?"), "");
}

TEST(ObjectFiles, AreReadWithinAnAllowance) {
    auto fd = own_program();
    const auto size = size_of(fd);
    ReadAllowance allowance{.bytes = 4096};
    FilePieces file{std::move(fd), size, allowance};
    ASSERT_TRUE(file.read(0, 64));
    const auto more = file.read(size / 2, 64);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::TooLarge);
}

TEST(ObjectFiles, OfOtherKindsAreNone) {
    for (const auto* text : {"",
                             "\x7f"
                             "ELF",
                             "#!/bin/sh\n"}) {
        TextPieces file{text};
        const auto object = read_object(file, ReadDepth::Code);
        ASSERT_TRUE(object);
        EXPECT_FALSE(*object);
    }
}

}  // namespace object_file_test
}  // namespace gpuprobe
