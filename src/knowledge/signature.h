// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "knowledge/bundle.h"

/// Signatures of bundles: Ed25519 (RFC 8032) in the files of signify(1). The arithmetic is
/// nettle's; a program that installs no bundle does not link this.
namespace gpuprobe::knowledge {

/// Who may sign bundles, as signify-openbsd -G writes it: a comment, and a line of base64. Where
/// the comment has "expires YYYY-MM-DD", the key counts until then.
struct PublicKey {
    std::string name = {};  ///< of its file
    std::array<std::uint8_t, 8> number = {};
    std::array<std::uint8_t, 32> bytes = {};
    std::optional<WallTime> expires = {};
};
/// Errors: Malformed.
Result<PublicKey> public_key_from(std::string_view text, std::string_view name);

/// The key that signed it. Errors: NotAuthorized, where none of the keys did, or one that has
/// expired by `now`; Malformed for what is no signature.
Result<const PublicKey*> signer_of(const SignedText& text,
                                   std::span<const PublicKey> keys,
                                   WallTime now);

}  // namespace gpuprobe::knowledge
