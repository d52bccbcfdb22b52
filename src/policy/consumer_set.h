// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/library.h"
#include "policy/manifest.h"
#include "policy/profile.h"

namespace gpuprobe::inline policy {

/// What is known of one consumer: how it chooses a backend, which of its builds can be installed,
/// or both. data/knowledge/consumers/NAME.json, schema data/schema/consumer.schema.json, meaning
/// docs/consumers.md.
struct Consumer {
    std::string name = {};
    std::optional<Profile> selection = {};
    std::optional<Manifest> product = {};
};

/// A consumer's document (gpuprobe.consumer/1), or one part of it alone: a profile (schema 1), or a
/// manifest with a name. Errors: TooLarge over kMaxManifest; as profile_from() and manifest_from();
/// Malformed for a document that has neither part.
Result<Consumer> parse_consumer(std::string_view json);

/// The product of a consumer's document, or a manifest, which may be without a name. Errors:
/// likewise.
Result<Manifest> parse_product(std::string_view json);

/// Every consumer that this program knows, by name. A document of the library is read when it is
/// first asked for: most never are. Not for several threads at once.
class ConsumerSet {
public:
    /// The documents of the library in use.
    static ConsumerSet with_builtins();

    /// Adds a document; each part that it has takes the place of that part of the same name.
    /// Errors: as parse_consumer(), with `origin` in front; TooLarge over kMaxConsumers. Nothing
    /// has changed then.
    Status add(std::string_view json, std::string_view origin);

    /// Null where there is none of that name. Valid until the next add().
    [[nodiscard]] const Profile* selection(std::string_view name) const;
    [[nodiscard]] const Manifest* product(std::string_view name) const;

    /// All names, those of consumers with a selection, and of those with a product; sorted.
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] std::vector<std::string> consumers() const;
    [[nodiscard]] std::vector<std::string> products() const;

private:
    /// What is added stands over what is in the library, part by part.
    struct Entry {
        std::string_view unread = {};  ///< of the library; empty once it has been read
        bool has_been_seen = false;    ///< `has_selection` and `has_product` know of `unread`
        bool has_selection = false;
        bool has_product = false;
        Consumer consumer = {};
    };
    static void see_parts(Entry& entry);
    [[nodiscard]] const Consumer* find(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> names_with(bool Entry::*part) const;

    std::shared_ptr<const knowledge::Library> library_ = {};  ///< has the texts that are unread
    mutable std::map<std::string, Entry, std::less<>> entries_ = {};
};

constexpr std::size_t kMaxConsumers = 512;

/// UnknownConsumer or, of a product, NotFound: "WHAT 'NAME'; did you mean 'torch'?", or who lists
/// them.
Error unknown_name(ErrorCode code,
                   std::string_view what,
                   std::string_view name,
                   const std::vector<std::string>& known);

}  // namespace gpuprobe::inline policy
