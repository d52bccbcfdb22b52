// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "knowledge/library.h"

/// A bundle: a single signed file with all data files of the knowledge base. The file begins with
/// the two lines of a signature that `signify -S -e` writes (signify(1)). The next line is JSON
/// that lists the contents; then the data files follow one after another. A bundle cannot determine
/// the paths to which its files are written.

namespace gpuprobe::knowledge {

constexpr std::string_view kBundleSchema = "gpuprobe.bundle/1";
constexpr Bytes kMaxBundle = mib(16);
constexpr Bytes kMaxBundleHead = kib(256);
constexpr std::size_t kMaxBundleDocuments = 1024;

/// The text at the beginning of each file that signify writes.
constexpr std::string_view kUntrustedComment = "untrusted comment: ";

struct BundleEntry {
    std::string name = {};
    std::string sha256 = {};  ///< hash of the data file
    std::uint64_t bytes = 0;
};

struct BundleHead {
    std::string schema = {};
    std::string version = {};  ///< numbers separated by dots; each release has a higher version
    std::string issued = {};
    std::string expires = {};
    /// sorted by name; the data files follow in the same order
    std::vector<BundleEntry> documents = {};
};

struct Bundle {
    BundleHead head = {};
    DocumentSet set = {};
};

/// A signed file, split into the signature and the signed message. Errors: Malformed.
struct SignedText {
    std::string_view signature = {};  ///< the signature in base64
    std::string_view message = {};
};
Result<SignedText> signed_text_in(std::string_view file);

/// Reads a message whose signature has already been checked. Each data file must have a valid name,
/// the size and the hash that the head contains, and the schema that this program reads.
///
/// `message` is a part of `text`, which the returned set keeps alive. Errors: TooLarge if a limit
/// is exceeded; Malformed, with a message that names the member or data file at fault.
Result<Bundle> bundle_from(std::string_view message,
                           const std::shared_ptr<const std::string>& text,
                           std::string_view path);

// Signatures of bundles: Ed25519 (RFC 8032) in the file format of signify(1), implemented by
// nettle. Only programs that install bundles link this code.

/// A key that may sign bundles. `signify-openbsd -G` writes the key's file, which consists of a
/// comment and a line of base64. If the comment contains "expires YYYY-MM-DD", the key is valid
/// until that day.
struct PublicKey {
    std::string name = {};  ///< name of the key's file
    std::array<std::uint8_t, 8> number = {};
    std::array<std::uint8_t, 32> bytes = {};
    std::optional<WallTime> expires = {};
};
/// Reads a key file. Errors: Malformed.
Result<PublicKey> public_key_from(std::string_view text, std::string_view name);

/// The key that made the signature. Errors: NotAuthorized if none of the keys made the
/// signature, or if the key has expired at `now`; Malformed if `signature` isn't a signature.
Result<const PublicKey*> signer_of(const SignedText& text,
                                   std::span<const PublicKey> keys,
                                   WallTime now);

}  // namespace gpuprobe::knowledge
