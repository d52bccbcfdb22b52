// SPDX-License-Identifier: Apache-2.0
#include "backends/denied_node.h"

#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace gpuprobe {
namespace {

TEST(DeniedNode, IsOneThatItsModeWouldOpen) {
    EXPECT_TRUE(is_denied("/dev/null", EPERM));
    EXPECT_FALSE(is_denied("/dev/null", EACCES));
    EXPECT_FALSE(is_denied("/dev/null", ENXIO));
    EXPECT_FALSE(is_denied("/dev/no-such-node", EPERM));
}

TEST(DeniedNode, OthersAddNothing) {
    std::vector<Reason> reasons;
    add_denial("/dev/null", reasons);
    add_denial("/dev/no-such-node", reasons);
    EXPECT_TRUE(reasons.empty());
}

TEST(DeniedNode, IsToldByAControlGroup) {
    const testing::TemporaryFolder folder;
    const auto node = folder.path() + "/nvidiactl";
    if (::mknod(node.c_str(), S_IFCHR | 0666, makedev(195, 255)) != 0)
        GTEST_SKIP() << "this process may make no device nodes";
    const int fd = ::open(node.c_str(), O_RDWR | O_CLOEXEC);
    const bool is_closed_here = fd < 0 && errno == EPERM;
    if (fd >= 0)
        ::close(fd);
    std::vector<Reason> reasons;
    add_denial(node, reasons);
    if (!is_closed_here)
        EXPECT_TRUE(reasons.empty());
    else
        EXPECT_EQ(reasons, std::vector{because("device-denied", {{"node", node}})});
}

}  // namespace
}  // namespace gpuprobe
