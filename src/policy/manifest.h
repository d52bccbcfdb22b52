// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/value.h"
#include "policy/term.h"

/// The variants of one product: gpuprobe.variants/1. Meaning: docs/variants.md; schema:
/// data/schema/variants.schema.json.
namespace gpuprobe::inline policy {

struct Variant;

/// What evaluate() reads of a platform's variants, in few pieces: the variants of a manifest mostly
/// ask the same, so that each term is there once, and asked once.
struct VariantIndex {
    /// One variant. `words` holds from `first` on: the host's terms, then for each alternative
    /// the number of its terms and these.
    struct Entry {
        std::uint32_t first = 0;
        std::uint32_t host = 0;
        std::uint32_t alternatives = 0;
        int tier = 0;
        int priority = 0;
        bool needs_all = false;    ///< scope
        bool is_supported = true;  ///< no word that is not known stands beside host and device
        bool accepts_unknown = false;
    };
    std::vector<Term> terms = {};           ///< each once
    std::vector<std::uint32_t> words = {};  ///< places in `terms`, and counts
    std::vector<Entry> entries = {};        ///< of each variant, in their order
};

VariantIndex index_of(const std::vector<Variant>& variants);

enum class VariantScope { Any, All };
constexpr std::array<EnumName<VariantScope>, 2> names_of(VariantScope) {
    return {{{VariantScope::Any, "any"}, {VariantScope::All, "all"}}};
}

enum class OnUnknown { Reject, Accept };
constexpr std::array<EnumName<OnUnknown>, 2> names_of(OnUnknown) {
    return {{{OnUnknown::Reject, "reject"}, {OnUnknown::Accept, "accept"}}};
}

enum class OnNone { Error, Default };
constexpr std::array<EnumName<OnNone>, 2> names_of(OnNone) {
    return {{{OnNone::Error, "error"}, {OnNone::Default, "default"}}};
}

/// What must hold, or is advised.
struct Requirements {
    Conjunction host = {};
    std::vector<Conjunction> devices = {};      ///< alternatives; none: no device is needed
    std::vector<std::string> unsupported = {};  ///< words beside `host` and `device`
    VariantScope scope = VariantScope::Any;
};

struct Variant {
    std::string name = {};
    std::string family = {};  ///< as given, or the name
    int tier = 0;
    int priority = 0;
    OnUnknown on_unknown = OnUnknown::Reject;
    Requirements needs = {};
    std::optional<Requirements> advice = {};
    Value artifact = {};  ///< checked and whole; null when none is given
    std::map<std::string, std::string> environment = {};
    std::optional<std::string> note = {};
};

struct VariantPlatform {
    std::string key = {};                      ///< as the manifest spells it
    std::string arch = {};                     ///< as uname -m
    std::optional<std::string> libc = {};      ///< "glibc" or "musl", when the key says so
    std::optional<std::string> fallback = {};  ///< `default`
    OnNone on_none = OnNone::Error;
    std::optional<std::string> none_hint = {};
    std::vector<Variant> variants = {};  ///< in the order of their names
    VariantIndex index = {};             ///< of `variants`
};

struct Manifest {
    std::string name = {};  ///< may be empty in tsuku's form
    std::optional<std::string> version = {};
    std::optional<std::string> issued = {};
    std::optional<std::string> expires = {};  ///< RFC 3339 in UTC, so that texts compare as times
    std::optional<Version> rules = {};        ///< the oldest rules that it relies on
    Value source = {};
    std::vector<VariantPlatform> platforms = {};  ///< of Linux, sorted by key
    std::string sha256 = {};                      ///< of the text that it was in
};

constexpr std::string_view kManifestSchema = "gpuprobe.variants/1";
constexpr Bytes kMaxManifest = mib(1);
constexpr std::size_t kMaxVariants = 512;  ///< of one platform
constexpr std::size_t kMaxAlternatives = 16;

/// A manifest from its value: gpuprobe.variants/1, or tsuku's forms with two levels or flat.
/// Without the hash of its text.
///
/// Errors: Malformed with the JSON path, for anything that the schema refuses, for two spellings of
/// one platform, a `default` or companion that is no variant, a URL that is neither https nor http,
/// and a hash of zeros only.
Result<Manifest> manifest_from(const Value& root);
/// "2026-08-22T00:00:00Z"; nullopt for anything else.
std::optional<WallTime> instant_from(std::string_view text);

/// The platform of that machine: a key with its C library before one without; null without any.
const VariantPlatform* platform_for(const Manifest& manifest, const Facts& host);
const Variant* find_variant(const VariantPlatform& platform, std::string_view name);

}  // namespace gpuprobe::inline policy
