// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "knowledge/library.h"

/// A bundle: one file with all documents of knowledge, signed. Two lines of a signature as
/// signify(1) writes them with -e, one line of JSON that says what follows, and the documents, one
/// behind the other. Nothing in it names a place to write to.
namespace gpuprobe::knowledge {

constexpr std::string_view kBundleSchema = "gpuprobe.bundle/1";
constexpr Bytes kMaxBundle = mib(16);
constexpr Bytes kMaxBundleHead = kib(256);
constexpr std::size_t kMaxBundleDocuments = 1024;

/// What each of signify's files begins with.
constexpr std::string_view kUntrustedComment = "untrusted comment: ";

struct BundleEntry {
    std::string name = {};
    std::string sha256 = {};  ///< of its text
    std::uint64_t bytes = 0;
};

struct BundleHead {
    std::string schema = {};
    std::string version = {};  ///< numbers between dots; only ever rises
    std::string issued = {};
    std::string expires = {};
    std::vector<BundleEntry> documents = {};  ///< sorted by name, as they follow
};

struct Bundle {
    BundleHead head = {};
    DocumentSet set = {};
};

/// The two lines of a signature and what they sign. Errors: Malformed.
struct SignedText {
    std::string_view signature = {};  ///< in base64
    std::string_view message = {};
};
Result<SignedText> signed_text_in(std::string_view file);

/// Reads a message, whose signature somebody else has checked. Each document is of its size and
/// hash, of the schema that this program reads, and called as a document may be called.
///
/// Errors: TooLarge over one of the limits; Malformed, with the member or document at fault.
/// `text` is what `message` is part of; the set keeps it.
Result<Bundle> bundle_from(std::string_view message,
                           const std::shared_ptr<const std::string>& text,
                           std::string_view path);

}  // namespace gpuprobe::knowledge
