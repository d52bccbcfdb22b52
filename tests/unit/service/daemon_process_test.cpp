// SPDX-License-Identifier: Apache-2.0
#include "service/daemon_process.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuprobe {
namespace daemon_process_test {

TEST(SealedFile, IsReadFromItsStartAndCannotBeChanged) {
    const auto file = sealed_file("test", "content");
    ASSERT_TRUE(file);
    std::array<char, 16> buffer{};
    const auto length = ::read(file->get(), buffer.data(), buffer.size());
    EXPECT_EQ(std::string(buffer.data(), static_cast<std::size_t>(length)), "content");
    EXPECT_EQ(::write(file->get(), "x", 1), -1);
    EXPECT_EQ(::ftruncate(file->get(), 0), -1);
}

TEST(SealedFile, MayBeEmpty) {
    EXPECT_TRUE(sealed_file("test", ""));
}

}  // namespace daemon_process_test
}  // namespace gpuprobe
