// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/record.h"
#include "base/record_type.h"
#include "policy/truth.h"
#include "report/outcome.h"

namespace gpuprobe::inline policy {

/// One backend on one GPU (or without a GPU: cpu, and backends that no GPU supports) and its
/// verdict.
struct Candidate {
    std::string backend = {};
    std::optional<std::string> gpu = {};
    Verdict verdict = Verdict::Unknown;
    std::vector<Reason> reasons = {};
    /// For an accepted candidate: the variables that make the application use only it.
    std::map<std::string, std::string> environment = {};
    /// The reasons as one text for people, each sentence once (explain/reason_words.h).
    std::optional<std::string> why = {};
    /// The best published variant that uses the backend on the GPU, if the request does not
    /// describe the build.
    std::optional<std::string> variant = {};
    bool operator==(const Candidate&) const = default;
};
RECORD_MEMBERS(Candidate, backend, gpu, verdict, reasons, environment, why, variant)

/// The published variant that a decision is for, because the request does not describe the build:
/// the one that RecommendVariant names.
struct AssumedVariant {
    std::string variant = {};
    std::optional<std::string> version = {};  ///< of the application, from the manifest
    bool operator==(const AssumedVariant&) const = default;
};
RECORD_MEMBERS(AssumedVariant, variant, version)

/// The answer to "which backend?". `backend` is null if no candidate satisfies the request. The
/// candidates contain the reasons in either case.
struct Decision {
    std::string application = {};
    std::optional<std::string> backend = {};
    std::vector<std::string> gpus = {};
    std::map<std::string, std::string> environment = {};
    std::optional<AssumedVariant> assumes = {};
    std::string summary = {};  ///< "requested=auto detected=[vulkan,cpu] selected=vulkan"
    std::map<std::string, std::string> answers = {};  ///< further answers for the application
    std::vector<std::string> messages = {};           ///< the application's message texts
    std::vector<Candidate> candidates = {};
    /// Reasons why the choice may not be used, and outdated data.
    std::vector<Reason> warnings = {};
    std::map<std::string, std::string> assumed = {};  ///< facts that the request assumes
    std::uint64_t generation = 0;
    bool operator==(const Decision&) const = default;
};
RECORD_MEMBERS(Decision,
               application,
               backend,
               gpus,
               environment,
               assumes,
               answers,
               messages,
               candidates,
               warnings,
               assumed,
               ("decision", summary),
               generation)
RECORD_DECLARE_CONVERSIONS(Decision)

/// A variant of the platform and its verdict.
struct VariantCandidate {
    std::string variant = {};
    std::string family = {};
    int tier = 0;
    int priority = 0;
    Verdict verdict = Verdict::Rejected;
    std::vector<std::string> gpus = {};    ///< ids of the GPUs it runs on
    std::vector<Reason> reasons = {};      ///< every predicate that is not true; docs/reasons.md
    std::vector<Reason> warnings = {};     ///< the same for its recommended conditions
    std::optional<std::string> note = {};  ///< from the manifest
    std::optional<std::string> why = {};   ///< as Candidate::why
    /// The version of the application that it installs, if that is not the manifest's.
    std::optional<std::string> version = {};
    bool operator==(const VariantCandidate&) const = default;
};
RECORD_MEMBERS(VariantCandidate,
               variant,
               family,
               tier,
               priority,
               verdict,
               gpus,
               reasons,
               warnings,
               note,
               why,
               version)

enum class RecommendStatus {
    Ok,
    None,               ///< no variant fits
    DefaultUnverified,  ///< no variant fits, but the manifest specifies its default anyway
    NoPlatform,         ///< the manifest does not support the platform, as far as it is known
};
constexpr std::array<EnumName<RecommendStatus>, 4> names_of(RecommendStatus) {
    return {{{RecommendStatus::Ok, "ok"},
             {RecommendStatus::None, "none"},
             {RecommendStatus::DefaultUnverified, "default-unverified"},
             {RecommendStatus::NoPlatform, "no-platform"}}};
}

/// The signature of an artifact. Every member may be missing.
struct ArtifactSignature {
    std::string type = {};  ///< "minisign", "sigstore-bundle" or "gpg"
    std::string url = {};
    std::string key_id = {};
};
RECORD_MEMBERS(ArtifactSignature, type, url, key_id)
constexpr auto forms_of(std::type_identity<ArtifactSignature>) {
    return std::to_array<MemberForm>({{.key = "type", .is_optional = true},
                                      {.key = "url", .is_optional = true},
                                      {.key = "key_id", .is_optional = true}});
}

/// A file or package that has to be installed next to an artifact. It has `urls` or `ref`.
struct CompanionFile {
    std::vector<std::string> urls = {};  ///< https or http
    std::string sha256 = {};             ///< hash of the file, in hexadecimal
    std::uint64_t size = 0;              ///< in bytes
    std::string ref = {};                ///< name of a package
};
RECORD_MEMBERS(CompanionFile, urls, sha256, size, ref)
constexpr auto forms_of(std::type_identity<CompanionFile>) {
    return std::to_array<MemberForm>({{.key = "urls", .is_optional = true},
                                      {.key = "sha256", .is_optional = true},
                                      {.key = "size", .is_optional = true},
                                      {.key = "ref", .is_optional = true}});
}

/// Known properties of a container image. Every member is optional.
struct ArtifactImage {
    /// Bundled parts of a driver with their versions: "cuda-compat", "mesa", "rocm".
    std::map<std::string, std::optional<std::string>> bundles = {};
    std::vector<std::string> conditions = {};  ///< NVIDIA_REQUIRE_CUDA, one alternative each
};
RECORD_MEMBERS(ArtifactImage, bundles, ("requires", conditions))
constexpr auto forms_of(std::type_identity<ArtifactImage>) {
    return std::to_array<MemberForm>(
        {{.key = "bundles", .is_optional = true}, {.key = "requires", .is_optional = true}});
}

// Answers contain the manifest's own object, which read_artifact() has checked. This is its type
// for clients.

/// The download of a variant. It has the members that the manifest sets.
struct Artifact {
    std::string type = {};               ///< "file", "oci", "index", "wheel", "dir", "package"
    std::vector<std::string> urls = {};  ///< https or http
    std::string sha256 = {};             ///< hash of the file, in hexadecimal
    std::uint64_t size = 0;              ///< in bytes
    std::string ref = {};                ///< reference of an OCI image
    std::string digest = {};             ///< of an OCI image: "sha256:…"
    std::string media_type = {};
    std::vector<std::string> companions = {};  ///< variants that are downloaded with this one
    /// Files and packages that have to be installed next to this one.
    std::vector<CompanionFile> companion_files = {};
    ArtifactSignature signature = {};
    ArtifactImage image = {};  ///< of an OCI image
};
RECORD_MEMBERS(Artifact,
               type,
               urls,
               sha256,
               size,
               ref,
               digest,
               media_type,
               companions,
               companion_files,
               signature,
               image)
constexpr auto forms_of(std::type_identity<Artifact>) {
    return std::to_array<MemberForm>({{.key = "urls", .is_optional = true},
                                      {.key = "sha256", .is_optional = true},
                                      {.key = "size", .is_optional = true},
                                      {.key = "ref", .is_optional = true},
                                      {.key = "digest", .is_optional = true},
                                      {.key = "media_type", .is_optional = true},
                                      {.key = "companions", .is_optional = true},
                                      {.key = "companion_files", .is_optional = true},
                                      {.key = "signature", .is_optional = true},
                                      {.key = "image", .is_optional = true}});
}

/// The answer to "which download?".
struct Recommendation {
    std::string application = {};
    std::optional<std::string> version = {};  ///< the variant's, otherwise the manifest's
    RecommendStatus status = RecommendStatus::None;
    std::optional<std::string> platform = {};
    std::optional<std::string> variant = {};
    std::optional<Verdict> verdict = {};  ///< the variant's: accepted or uncertain
    Value artifact = {};                  ///< the variant's Artifact, from the manifest
    std::map<std::string, std::string> environment = {};  ///< the variant's, from the manifest
    std::vector<std::string> gpus = {};                   ///< ids of the GPUs it runs on
    std::vector<std::string> fallback = {};               ///< variants to try next, best first
    std::optional<std::string> project_default = {};
    std::optional<std::string> hint = {};  ///< from the manifest, if no variant fits
    std::vector<Reason> warnings = {};     ///< about the variant and about the whole answer
    std::map<std::string, std::string> assumed = {};  ///< facts that the request assumes
    /// First the usable ones in order, then the others.
    std::vector<VariantCandidate> candidates = {};
    std::string manifest_sha256 = {};
    std::string rules = {};  ///< serial number of the rules
    std::uint64_t generation = 0;
    bool operator==(const Recommendation&) const = default;
};
RECORD_MEMBERS(Recommendation,
               application,
               version,
               status,
               platform,
               variant,
               verdict,
               artifact,
               environment,
               gpus,
               fallback,
               ("default", project_default),
               hint,
               warnings,
               assumed,
               candidates,
               manifest_sha256,
               rules,
               generation)
RECORD_DECLARE_CONVERSIONS(Recommendation)
constexpr auto forms_of(std::type_identity<Recommendation>) {
    return std::to_array<MemberForm>({{.key = "artifact", .object = "Artifact"}});
}

}  // namespace gpuprobe::inline policy
