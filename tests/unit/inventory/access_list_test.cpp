// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "inventory/device_nodes.h"

namespace gpuprobe {
namespace access_list_test {

using namespace std::string_view_literals;

/// The value that getxattr(2) returned for a file after `setfacl -m u:1000:rw,g:44:r`.
constexpr auto kList =
    "\x02\0\0\0"
    "\x01\0\x06\0\xff\xff\xff\xff"
    "\x02\0\x06\0\xe8\x03\0\0"
    "\x04\0\x04\0\xff\xff\xff\xff"
    "\x08\0\x04\0\x2c\0\0\0"
    "\x10\0\x06\0\xff\xff\xff\xff"
    "\x20\0\0\0\xff\xff\xff\xff"sv;

TEST(AccessList, HasTheEntriesThatAModeLacks) {
    EXPECT_EQ(access_list(kList), (std::vector<AclEntry>{{.tag = "user", .id = 1000, .mode = 6},
                                                         {.tag = "owning-group", .mode = 4},
                                                         {.tag = "group", .id = 44, .mode = 4},
                                                         {.tag = "mask", .mode = 6}}));
}

TEST(AccessList, IsWholeOrNone) {
    for (std::size_t size = 0; size < kList.size(); ++size) {
        const bool ends_at_an_entry = size >= 4 && (size - 4) % 8 == 0;
        EXPECT_EQ(access_list(kList.substr(0, size)).empty(), !ends_at_an_entry || size < 20)
            << size;
    }
}

TEST(AccessList, OfAnotherVersionIsNone) {
    std::string other{kList};
    other[0] = 3;
    EXPECT_TRUE(access_list(other).empty());
}

TEST(AccessList, WithUnknownTagsAndBitsIsReadWithoutThem) {
    EXPECT_EQ(access_list("\x02\0\0\0\x40\0\x06\0\0\0\0\0\x02\0\xfe\xff\x01\0\0\0"sv),
              (std::vector<AclEntry>{{.tag = "user", .id = 1, .mode = 6}}));
}

}  // namespace access_list_test
}  // namespace gpuprobe
