// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"
#include "policy/term.h"

/// The variants of one application: gpuprobe.variants/1. docs/data-files.md explains the members,
/// and the schema is data/schema/variants.schema.json.
namespace gpuprobe::inline policy {

struct Variant;

/// The data about the variants for a platform that evaluate() reads, in compact form. Most variants
/// have terms in common, so each term is stored and evaluated only once.
struct VariantIndex {
    /// One variant. From index `first`, `words` contains the indices of the terms about the host.
    /// The following entries of `words` are, for each alternative, the number of its terms and the
    /// indices of its terms.
    struct Entry {
        std::uint32_t first = 0;
        std::uint32_t host = 0;
        std::uint32_t alternatives = 0;
        int tier = 0;
        int priority = 0;
        bool needs_all = false;      ///< whether all GPUs must meet the requirements
        std::uint32_t gpus_min = 1;  ///< minimum number of suitable GPUs
        /// False if the requirements have an unknown member in addition to `host` and `device`.
        bool is_supported = true;
    };
    std::vector<Term> terms = {};           ///< the terms of all variants, each stored once
    std::vector<std::uint32_t> words = {};  ///< indices into `terms`, and numbers of terms
    std::vector<Entry> entries = {};  ///< one entry for each variant, in the order of the variants
};

/// Builds the index for all variants for a platform.
VariantIndex index_of(const std::vector<Variant>& variants);

/// Whether at least one GPU or every GPU must meet the requirements.
enum class VariantScope { Any, All };
constexpr std::array<EnumName<VariantScope>, 2> names_of(VariantScope) {
    return {{{VariantScope::Any, "any"}, {VariantScope::All, "all"}}};
}

/// What the manifest requests if no variant fits.
enum class OnNone { Error, Default };
constexpr std::array<EnumName<OnNone>, 2> names_of(OnNone) {
    return {{{OnNone::Error, "error"}, {OnNone::Default, "default"}}};
}

/// The requirements of a variant, or the conditions that it recommends.
struct Requirements {
    Conjunction host = {};
    /// alternatives for devices; empty if no device is needed
    std::vector<Conjunction> devices = {};
    /// Unknown members in addition to `host` and `device`.
    std::vector<std::string> unsupported = {};
    VariantScope scope = VariantScope::Any;
    std::uint32_t gpus_min = 1;  ///< minimum number of suitable GPUs, if a device is needed
    /// The recommended conditions for each alternative in `devices`; empty if there are no
    /// recommended conditions.
    std::vector<Requirements> advice = {};
};

/// One variant of an application.
struct Variant {
    std::string name = {};
    std::string family = {};  ///< family in the manifest; if missing, the name
    int tier = 0;
    int priority = 0;
    Requirements needs = {};
    std::optional<Requirements> advice = {};
    Value artifact = {};  ///< the artifact, which was checked; null if absent
    std::map<std::string, std::string> environment = {};
    /// The version of the application, if it differs from the manifest's version.
    std::optional<std::string> version = {};
    std::optional<std::string> note = {};
};

/// The variants for one platform.
struct VariantPlatform {
    std::string key = {};                      ///< key of the platform in the manifest's spelling
    std::string arch = {};                     ///< processor architecture as `uname -m` prints it
    std::optional<std::string> libc = {};      ///< "glibc" or "musl", if the key contains it
    std::optional<std::string> fallback = {};  ///< the variant that the manifest names as `default`
    OnNone on_none = OnNone::Error;
    std::optional<std::string> none_hint = {};
    std::vector<Variant> variants = {};  ///< variants of the platform, sorted by name
    VariantIndex index = {};             ///< index of `variants`
};

/// The members of a document's `source` that concern the project's versions.
struct UpstreamVersions {
    /// The version that a document describes if it has no manifest.
    std::optional<std::string> version = {};
    std::optional<std::string> checked = {};  ///< day of the last check for a newer version
    std::optional<std::string> newer = {};    ///< version that is newer than the described version
};
RECORD_MEMBERS(UpstreamVersions, version, checked, newer)
/// The versions in a document's `source`, which a reader has accepted.
UpstreamVersions upstream_versions(const Value& source);

/// A manifest.
struct Manifest {
    std::string name = {};  ///< name of the application; may be empty in tsuku's format
    std::optional<std::string> version = {};
    std::optional<std::string> issued = {};
    std::optional<std::string> expires = {};  ///< RFC 3339 in UTC, so sorting strings sorts times
    std::optional<Version> rules = {};        ///< minimum serial number of the rules
    Value source = {};
    std::vector<VariantPlatform> platforms = {};  ///< Linux platforms only, sorted by key
    std::string sha256 = {};                      ///< hash of the manifest's JSON
    std::string path = {};  ///< path of the data file; empty if built in or in a request
};

/// The schemas of an application's data file, and of a manifest that isn't in such a file.
constexpr std::string_view kApplicationSchema = "gpuprobe.application/1";
constexpr std::string_view kManifestSchema = "gpuprobe.variants/1";
constexpr Bytes kMaxManifest = mib(1);
constexpr std::size_t kMaxVariants = 512;  ///< maximum number of variants per platform
constexpr std::size_t kMaxAlternatives = 16;

/// Parses a time such as "2026-08-22T00:00:00Z"; nullopt for any other format.
std::optional<WallTime> instant_from(std::string_view text);

/// The platform in the manifest to which the machine belongs. A key that contains the machine's C
/// library takes precedence over a key without a C library. The result is null if no platform
/// matches.
const VariantPlatform* platform_for(const Manifest& manifest, const Facts& host);
/// The variant with the given name; null if there is no such variant.
const Variant* find_variant(const VariantPlatform& platform, std::string_view name);

}  // namespace gpuprobe::inline policy
