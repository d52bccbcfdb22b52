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

/// One backend on one GPU, or without a GPU (cpu, and backends that no GPU supports), and the
/// verdict on this combination.
struct Candidate {
    std::string backend = {};
    std::optional<std::string> gpu = {};
    /// The ids of further GPUs of the same model for which the backend has the same verdict,
    /// reasons and variant. To get the reasons for one of these GPUs, exchange its id and the id in
    /// `gpu`.
    std::vector<std::string> also = {};
    Verdict verdict = Verdict::Unknown;
    std::vector<Reason> reasons = {};
    /// If the candidate is accepted, the variables that make the application use only this
    /// candidate.
    std::map<std::string, std::string> environment = {};
    /// For each variable in `environment` whose value depends on the GPU, the values for the GPUs
    /// in `also`, in the same order.
    std::map<std::string, std::vector<std::string>> also_environment = {};
    /// The reasons in one string for users, without repeated sentences (explain/reason_words.h).
    std::optional<std::string> why = {};
    /// The best published variant that uses the backend on the GPU, unless the request describes
    /// the build.
    std::optional<std::string> variant = {};
    bool operator==(const Candidate&) const = default;
};
RECORD_MEMBERS(
    Candidate, backend, gpu, also, verdict, reasons, environment, also_environment, why, variant)
constexpr auto forms_of(std::type_identity<Candidate>) {
    return std::to_array<MemberForm>(
        {{.key = "also", .is_rare = true}, {.key = "also_environment", .is_rare = true}});
}

/// The published variant that a decision assumes because the request does not describe the build.
/// RecommendVariant would recommend the same variant.
struct AssumedVariant {
    std::string variant = {};
    std::optional<std::string> version = {};  ///< version of the application, from the manifest
    bool operator==(const AssumedVariant&) const = default;
};
RECORD_MEMBERS(AssumedVariant, variant, version)

/// The answer to a Select request. `backend` is null if no candidate satisfies the request. The
/// candidates contain the reasons, even if `backend` is not null.
struct Decision {
    std::string application = {};
    std::optional<std::string> backend = {};
    std::vector<std::string> gpus = {};
    std::map<std::string, std::string> environment = {};
    std::optional<AssumedVariant> assumes = {};
    std::string summary = {};  ///< one line such as "requested=auto detected=[cpu] selected=cpu"
    /// Additional values that the application needs, by name (`answers` in the application's
    /// profile).
    std::map<std::string, std::string> answers = {};
    /// Messages that the application itself would print, from its profile.
    std::vector<std::string> messages = {};
    std::vector<Candidate> candidates = {};
    /// Reasons why a program may be unable to use the chosen GPU, and warnings about outdated data.
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

/// A variant for the platform, with the verdict on the variant.
struct VariantCandidate {
    std::string variant = {};
    std::string family = {};
    int tier = 0;
    int priority = 0;
    Verdict verdict = Verdict::Rejected;
    std::vector<std::string> gpus = {};  ///< ids of the GPUs on which the variant runs
    /// A reason for each predicate that is not true; see docs/reasons.md.
    std::vector<Reason> reasons = {};
    /// A reason for each recommended condition that does not hold.
    std::vector<Reason> warnings = {};
    std::optional<std::string> note = {};  ///< the manifest's note on the variant
    std::optional<std::string> why = {};   ///< the reasons as one string, as in Candidate::why
    /// The version of the application that the variant installs, if it differs from the manifest's
    /// version.
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
    DefaultUnverified,  ///< no variant fits, but the manifest has a default for this case
    NoPlatform,         ///< the manifest does not support the known part of the platform
};
constexpr std::array<EnumName<RecommendStatus>, 4> names_of(RecommendStatus) {
    return {{{RecommendStatus::Ok, "ok"},
             {RecommendStatus::None, "none"},
             {RecommendStatus::DefaultUnverified, "default-unverified"},
             {RecommendStatus::NoPlatform, "no-platform"}}};
}

/// The signature of an artifact of a variant. Every member of the signature may be missing.
struct ArtifactSignature {
    std::string type = {};  ///< kind of signature: "minisign", "sigstore-bundle" or "gpg"
    std::string url = {};
    std::string key_id = {};
};
RECORD_MEMBERS(ArtifactSignature, type, url, key_id)
constexpr auto forms_of(std::type_identity<ArtifactSignature>) {
    return std::to_array<MemberForm>({{.key = "type", .is_optional = true},
                                      {.key = "url", .is_optional = true},
                                      {.key = "key_id", .is_optional = true}});
}

/// A file or package that must be installed together with an artifact. Either `urls` or `ref` is
/// set, but not both.
struct CompanionFile {
    std::vector<std::string> urls = {};  ///< URLs that begin with https or http
    std::string sha256 = {};             ///< hash of the file, in hexadecimal
    std::uint64_t size = 0;              ///< size of the file, in bytes
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
    /// Parts of a driver that the image bundles, such as "compute-runtime", "cuda-compat", "mesa"
    /// or "rocm", with their versions.
    std::map<std::string, std::optional<std::string>> bundles = {};
    std::vector<std::string> conditions = {};  ///< the alternatives in NVIDIA_REQUIRE_CUDA
};
RECORD_MEMBERS(ArtifactImage, bundles, ("requires", conditions))
constexpr auto forms_of(std::type_identity<ArtifactImage>) {
    return std::to_array<MemberForm>(
        {{.key = "bundles", .is_optional = true}, {.key = "requires", .is_optional = true}});
}

// read_artifact() checks each artifact in a manifest, and answers then contain the artifact
// unchanged. This record describes to clients which members an artifact may have.

/// What is downloaded for a variant, with the members that the manifest sets.
struct Artifact {
    /// Kind of artifact: "file", "oci", "index", "wheel", "dir" or "package".
    std::string type = {};
    std::vector<std::string> urls = {};  ///< URLs that begin with https or http
    std::string sha256 = {};             ///< hash of the file, in hexadecimal
    std::uint64_t size = 0;              ///< size of the file, in bytes
    std::string ref = {};                ///< reference of an OCI image
    std::string digest = {};             ///< digest of an OCI image, such as "sha256:…"
    std::string media_type = {};
    /// Names of the variants that are downloaded together with this variant.
    std::vector<std::string> companions = {};
    /// Files and packages that must be installed together with this artifact.
    std::vector<CompanionFile> companion_files = {};
    /// Python packages that must not be installed together with this package.
    std::vector<std::string> excludes = {};
    ArtifactSignature signature = {};
    ArtifactImage image = {};  ///< properties of an OCI image
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
               excludes,
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
                                      {.key = "excludes", .is_optional = true},
                                      {.key = "signature", .is_optional = true},
                                      {.key = "image", .is_optional = true}});
}

/// The answer to a Recommend request.
struct Recommendation {
    std::string application = {};
    /// The version of the variant; if the variant has no version, the manifest's version.
    std::optional<std::string> version = {};
    RecommendStatus status = RecommendStatus::None;
    std::optional<std::string> platform = {};
    std::optional<std::string> variant = {};
    std::optional<Verdict> verdict = {};  ///< verdict on the variant: accepted or uncertain
    Value artifact = {};                  ///< the variant's Artifact, from the manifest
    /// The variant's environment variables in the manifest.
    std::map<std::string, std::string> environment = {};
    std::vector<std::string> gpus = {};      ///< ids of the GPUs on which the variant runs
    std::vector<std::string> fallback = {};  ///< variants that should be tried next, best first
    std::optional<std::string> project_default = {};
    std::optional<std::string> hint = {};  ///< the manifest's hint, if no variant fits
    std::vector<Reason> warnings = {};  ///< warnings about the variant and about the whole answer
    std::map<std::string, std::string> assumed = {};  ///< facts that the request assumes
    /// All usable variants, best first, followed by all other variants.
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
