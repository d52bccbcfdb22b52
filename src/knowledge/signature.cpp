// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include <nettle/base64.h>
#include <nettle/eddsa.h>

#include "base/text.h"
#include "knowledge/bundle.h"

namespace gpuprobe::knowledge {
namespace {

// Keys and signatures consist of the algorithm, the key number, and the key or signature. Source:
// signify.c, struct sig and struct pubkey.
constexpr std::string_view kAlgorithm = "Ed";
constexpr std::size_t kNumberSize = 8;
constexpr std::string_view kExpires = "expires ";

static_assert(ED25519_KEY_SIZE == 32 && ED25519_SIGNATURE_SIZE == 64);

/// Decodes base64; nullopt if the result does not have the expected size and algorithm.
template <std::size_t Size>
std::optional<std::array<std::uint8_t, Size>> decoded(std::string_view base64) {
    // The buffer is a few bytes larger than the result, because the decoder may also write an
    // incomplete group.
    std::array<std::uint8_t, Size + 8> bytes = {};
    if (base64.size() != BASE64_ENCODE_RAW_LENGTH(Size))
        return std::nullopt;
    base64_decode_ctx context = {};
    base64_decode_init(&context);
    std::size_t length = bytes.size();
    if (!base64_decode_update(&context, &length, bytes.data(), base64.size(), base64.data()) ||
        !base64_decode_final(&context) || length != Size ||
        std::memcmp(bytes.data(), kAlgorithm.data(), kAlgorithm.size()) != 0)
        return std::nullopt;
    std::array<std::uint8_t, Size> exact = {};
    std::ranges::copy_n(bytes.begin(), Size, exact.begin());
    return exact;
}

}  // namespace

Result<PublicKey> public_key_from(std::string_view text, std::string_view name) {
    const auto lines = split(text, '\n');
    const auto bad = [name](const char* problem) {
        return Error{ErrorCode::Malformed, scrubbed(name) + ": " + problem};
    };
    if (lines.size() < 2 || !lines[0].starts_with(kUntrustedComment))
        return bad("not a signify public key");
    const auto bytes = decoded<kAlgorithm.size() + kNumberSize + ED25519_KEY_SIZE>(lines[1]);
    if (!bytes)
        return bad("not an Ed25519 key");
    PublicKey key{.name = std::string{name}};
    const auto* number = bytes->data() + kAlgorithm.size();
    std::ranges::copy_n(number, kNumberSize, key.number.begin());
    std::ranges::copy_n(number + kNumberSize, ED25519_KEY_SIZE, key.bytes.begin());
    // The expiry date is our own convention; signify ignores the comment that contains it.
    const auto at = lines[0].find(kExpires);
    if (at == std::string_view::npos)
        return key;
    key.expires = instant_of(trimmed(lines[0].substr(at + kExpires.size())));
    if (!key.expires)
        return bad("expires: expected a date at the end of the comment");
    return key;
}

Result<const PublicKey*> signer_of(const SignedText& text,
                                   std::span<const PublicKey> keys,
                                   WallTime now) {
    const auto bytes =
        decoded<kAlgorithm.size() + kNumberSize + ED25519_SIGNATURE_SIZE>(text.signature);
    if (!bytes)
        return Error{ErrorCode::Malformed, "bundle: signature: not an Ed25519 signature"};
    const std::span number{bytes->data() + kAlgorithm.size(), kNumberSize};
    // An expired key matters only if the signature wasn't made with a valid key. If only an
    // expired key fits, there is a separate error message.
    const auto* expired = static_cast<const PublicKey*>(nullptr);
    for (const auto& key : keys) {
        // The key number is only a hint, which makes some calculations unnecessary. Only the
        // signature decides whether a key is the signer's key.
        if (!std::ranges::equal(key.number, number) ||
            !ed25519_sha512_verify(key.bytes.data(), text.message.size(),
                                   reinterpret_cast<const std::uint8_t*>(text.message.data()),
                                   number.data() + kNumberSize))
            continue;
        if (!key.expires || now < *key.expires)
            return &key;
        expired = &key;
    }
    if (expired)
        return Error{ErrorCode::NotAuthorized,
                     "bundle: the signing key has expired: " + scrubbed(expired->name)};
    return Error{ErrorCode::NotAuthorized,
                 keys.empty() ? "bundle: this machine has no key for verifying bundles"
                              : "bundle: not signed with a key that this machine trusts"};
}

}  // namespace gpuprobe::knowledge
