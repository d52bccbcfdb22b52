// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "knowledge/bundle.h"

/// Signatures of bundles: Ed25519 (RFC 8032) in the file format of signify(1), implemented by
/// nettle. Only programs that install bundles link this code.
namespace gpuprobe::knowledge {

/// A key that may sign bundles, from a file of `signify-openbsd -G`: a comment, and a line of
/// base64. If the comment contains "expires YYYY-MM-DD", the key is valid until then.
struct PublicKey {
    std::string name = {};  ///< name of its file
    std::array<std::uint8_t, 8> number = {};
    std::array<std::uint8_t, 32> bytes = {};
    std::optional<WallTime> expires = {};
};
/// Reads a key file. Errors: Malformed.
Result<PublicKey> public_key_from(std::string_view text, std::string_view name);

/// The key that made the signature. Errors: NotAuthorized if none of the keys made it, or if the
/// key has expired at `now`; Malformed if it is not a signature.
Result<const PublicKey*> signer_of(const SignedText& text,
                                   std::span<const PublicKey> keys,
                                   WallTime now);

}  // namespace gpuprobe::knowledge
