// SPDX-License-Identifier: Apache-2.0
#include "knowledge/bundle.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "base/value.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::size_t kMaxComment = 1024;   // the limit in signify (COMMENTMAXLEN)
constexpr std::size_t kMaxSignature = 256;  // a signature needs 100 characters

Error malformed(std::string_view place, std::string_view problem) {
    return {ErrorCode::Malformed, "bundle: " + scrubbed(place, 80) + ": " + std::string{problem}};
}

/// Removes and returns the first line of `text`. Errors: Malformed if the first line is longer than
/// `limit`.
Result<std::string_view> line_of(std::string_view& text, std::size_t limit, std::string_view what) {
    const auto end = text.substr(0, limit).find('\n');
    if (end == std::string_view::npos)
        return malformed(what, "the line is missing");
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

}  // namespace

RECORD_MEMBERS(BundleEntry, name, sha256, bytes)

RECORD_MEMBERS(BundleHead, schema, version, issued, expires, documents)

Result<SignedText> signed_text_in(std::string_view file) {
    auto rest = file;
    if (!TRY(line_of(rest, kMaxComment, "comment")).starts_with(kUntrustedComment))
        return malformed("comment", "not a signed bundle");
    const auto signature = TRY(line_of(rest, kMaxSignature, "signature"));
    return SignedText{.signature = signature, .message = rest};
}

namespace {

/// Checks everything in the head that can be checked without the data files.
Status check_head(const BundleHead& head) {
    if (head.schema != kBundleSchema)
        return malformed("schema", "expected " + std::string{kBundleSchema});
    if (!parse_text(std::string_view{head.version}, std::type_identity<Version>{}))
        return malformed("version", "expected numbers separated by dots");
    const auto issued = instant_of(head.issued);
    const auto expires = instant_of(head.expires);
    if (!issued || !expires || *expires <= *issued)
        return malformed("expires", "expected a date after the date in issued");
    if (head.documents.size() > kMaxBundleDocuments)
        return Error{ErrorCode::TooLarge, "bundle: documents: more than 1024"};
    for (std::size_t i = 0; i < head.documents.size(); ++i) {
        const auto& name = head.documents[i].name;
        if (!is_document_name(name))
            return malformed(name, "not the name of a data file");
        // Because names must be in strictly ascending order, there are no duplicates.
        if (i > 0 && name <= head.documents[i - 1].name)
            return malformed(name, "not unique, or not sorted by name");
    }
    return Done{};
}

/// Checks that this version of the program can read the data file's schema. If the schema is
/// different, the data file is meant for another version of the program.
Status check_schema(const std::string& name, std::string_view json) {
    auto known = compiled_in_text(name);
    // For a new cause or application, there is no built-in data file, so the new file must have the
    // same schema as the other causes or applications.
    if (known.empty())
        known = compiled_in_text(name.starts_with("causes/") ? "causes/access"
                                                             : "applications/default");
    const auto wanted = head_of(known);
    if (!wanted)  // the list of sources of the rules has no schema, because only people read it
        return Done{};
    const auto head = head_of(json);
    if (!head)
        return malformed(name, head.error().text);
    if (head->schema != wanted->schema)
        return malformed(name, "schema: expected " + wanted->schema);
    return Done{};
}

}  // namespace

// A valid signature isn't enough to trust a bundle: sizes, hashes, names and schemas are also
// checked.
Result<Bundle> bundle_from(std::string_view message,
                           const std::shared_ptr<const std::string>& text,
                           std::string_view path) {
    auto rest = message;
    const auto line = TRY(line_of(rest, kMaxBundleHead.count, "head"));
    const auto json = TRY(parse_json(line, kMaxBundleHead));
    auto head = record_from<BundleHead>(json);
    if (!head)
        return malformed("head", head.error().text);
    TRY(check_head(*head));
    Bundle bundle{.head = std::move(*head)};
    bundle.set.version =
        *parse_text(std::string_view{bundle.head.version}, std::type_identity<Version>{});
    // The data files follow each other without separators, so split the message by the sizes of the
    // files.
    for (const auto& entry : bundle.head.documents) {
        if (entry.bytes > rest.size())
            return malformed(entry.name, "cut short");
        const auto document = rest.substr(0, entry.bytes);
        rest.remove_prefix(entry.bytes);
        if (sha256_of(document) != entry.sha256)
            return malformed(entry.name, "does not match its sha256");
        TRY(check_schema(entry.name, document));
        bundle.set.documents.emplace(entry.name, StoredDocument{.json = document,
                                                                .origin = Origin::Bundle,
                                                                .path = std::string{path},
                                                                .text = text});
    }
    // Bytes at the end that the head does not list would not be covered by any hash.
    if (!rest.empty())
        return malformed("documents", "has more data than its header declares");
    // The version is in the head and in the data file "release"; both must agree.
    const auto* release = bundle.set.documents.contains(kRelease)
                              ? &bundle.set.documents.find(kRelease)->second
                              : nullptr;
    if (!release || head_of(release->json).value_or({}).version != bundle.head.version)
        return malformed(kRelease, "has a version that differs from the bundle's version");
    return bundle;
}

}  // namespace gpuprobe::knowledge
