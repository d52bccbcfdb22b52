// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "knowledge/bundle.h"
#include "support/signed_bundle.h"

/// Tests of src/knowledge/signature.cpp, which decides who may sign a bundle.
namespace gpuprobe::knowledge {
namespace signature_test {

using support::public_key_file;
using support::signed_by;

const WallTime kNow = *instant_of("2027-02-01");

TEST(Signature, IsOneOfTheKeys) {
    const auto file = signed_by(1, "hello");
    const auto parts = signed_text_in(file).value();
    EXPECT_EQ(parts.message, "hello");
    const PublicKey keys[] = {public_key_from(public_key_file(2), "a.pub").value(),
                              public_key_from(public_key_file(1), "b.pub").value()};
    EXPECT_EQ(signer_of(parts, keys, kNow).value()->name, "b.pub");
    const auto foreign = signer_of(parts, {keys, 1}, kNow);
    EXPECT_EQ(foreign.error().code, ErrorCode::NotAuthorized);
    EXPECT_EQ(signer_of(parts, {}, kNow).error().text,
              "bundle: this machine has no key for verifying bundles");
    // The number of a key is public, so a signature by another key with this number must be
    // refused.
    auto forged = signed_by(2, "hello");
    forged.replace(forged.find('\n') + 1, 14, file.substr(file.find('\n') + 1, 14));
    EXPECT_FALSE(signer_of(signed_text_in(forged).value(), keys, kNow));
}

TEST(Signature, OfAKeyThatHasExpiredCountsForNothing) {
    const auto file = signed_by(1, "hello");
    const auto parts = signed_text_in(file).value();
    const auto key = public_key_from(public_key_file(1, "k, expires 2027-02-01"), "k.pub").value();
    EXPECT_TRUE(signer_of(parts, {&key, 1}, kNow - Duration{1}));
    const auto late = signer_of(parts, {&key, 1}, kNow);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().text, "bundle: the signing key has expired: k.pub");
}

TEST(PublicKeys, AreReadWholeOrNotAtAll) {
    const auto good = public_key_file(1);
    for (std::size_t size = 0; size + 1 < good.size(); ++size)
        EXPECT_FALSE(public_key_from(good.substr(0, size), "k.pub")) << size;
    EXPECT_FALSE(public_key_from(public_key_file(1, "k, expires soon"), "k.pub"));
}

}  // namespace signature_test
}  // namespace gpuprobe::knowledge
