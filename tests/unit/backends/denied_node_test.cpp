// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include <gtest/gtest.h>

#include "backends/driver_library.h"

namespace gpuprobe::backends {
namespace denied_node_test {

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

/// The result of opening a node to which a control group, the node's mode or a driver refuses
/// access.
template <int Error>
int fails_with(const char*) {
    errno = Error;
    return -1;
}

TEST(DeniedNode, IsDetectedByTheErrorOfOpen) {
    std::vector<Reason> reasons;
    add_denial("/dev/null", reasons, fails_with<EACCES>);
    add_denial("/dev/null", reasons, fails_with<ENXIO>);
    add_denial("/dev/no-such-node", reasons, fails_with<EPERM>);
    EXPECT_TRUE(reasons.empty());
    add_denial("/dev/null", reasons, fails_with<EPERM>);
    EXPECT_EQ(reasons, std::vector{because("device-denied", {{"node", "/dev/null"}})});
}

}  // namespace denied_node_test
}  // namespace gpuprobe::backends
