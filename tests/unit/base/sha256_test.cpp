// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace sha256_test {

// The examples are from FIPS 180-4.
TEST(Sha256, HashesWhatTheStandardShows) {
    EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, DoesNotDependOnThePieces) {
    const std::string text(100000, 'x');
    Sha256 hash;
    for (std::size_t i = 0; i < text.size(); i += 999)
        hash.add(std::string_view{text}.substr(i, 999));
    EXPECT_EQ(hash.take(), sha256_of(text));
    hash.add("abc");
    EXPECT_EQ(hash.take(), sha256_of("abc"));
}

}  // namespace sha256_test
}  // namespace gpuprobe
