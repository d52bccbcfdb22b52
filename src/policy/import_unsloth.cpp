// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/parse.h"
#include "base/record.h"
#include "base/value_json.h"
#include "policy/import_manifest.h"
#include "policy/manifest.h"

namespace gpuprobe {
namespace {

/// One artifact of llama-prebuilt-manifest.json. Compute capabilities are written without a dot.
struct Prebuilt {
    std::string asset = {};
    std::string kind = {};  ///< "linux-cuda", "windows-cuda", "linux-rocm" …
    std::optional<std::string> profile = {};
    std::optional<std::string> line = {};  ///< "cuda12"
    std::optional<std::string> toolkit = {};
    std::vector<std::string> capabilities = {};
    std::optional<int> rank = {};
    std::optional<std::string> gfx = {};
    std::vector<std::string> mapped = {};
};
template <class Visitor>
void describe(Visitor& visit, Prebuilt& artifact) {
    visit("asset_name", artifact.asset);
    visit("install_kind", artifact.kind);
    visit("bundle_profile", artifact.profile);
    visit("runtime_line", artifact.line);
    visit("toolkit_version", artifact.toolkit);
    visit("supported_sms", artifact.capabilities);
    visit("rank", artifact.rank);
    visit("gfx_target", artifact.gfx);
    visit("mapped_targets", artifact.mapped);
}

struct PrebuiltList {
    std::string component = {};
    std::string upstream = {};
    std::vector<Prebuilt> artifacts = {};
};
template <class Visitor>
void describe(Visitor& visit, PrebuiltList& list) {
    visit("component", list.component);
    visit("upstream_tag", list.upstream);
    visit("artifacts", list.artifacts);
}

struct PrebuiltHash {
    std::string sha256 = {};
    std::optional<std::string> repository = {};
};
template <class Visitor>
void describe(Visitor& visit, PrebuiltHash& hash) {
    visit("sha256", hash.sha256);
    visit("repo", hash.repository);
}

/// llama-prebuilt-sha256.json.
struct PrebuiltHashes {
    std::string repository = {};
    std::string tag = {};
    std::map<std::string, PrebuiltHash> artifacts = {};
};
template <class Visitor>
void describe(Visitor& visit, PrebuiltHashes& hashes) {
    visit("repo", hashes.repository);
    visit("release_tag", hashes.tag);
    visit("artifacts", hashes.artifacts);
}

/// "86" is 8.6, "120" 12.0.
std::optional<std::string> capability_from(std::string_view text) {
    if (text.size() < 2 || text.size() > 3 || !parse_number<unsigned>(text))
        return std::nullopt;
    return std::string{text.substr(0, text.size() - 1)} + "." +
           std::string{text.substr(text.size() - 1)};
}

std::optional<Value> capabilities_from(const std::vector<std::string>& texts) {
    Value::Array list;
    for (const auto& text : texts) {
        auto capability = capability_from(text);
        if (!capability)
            return std::nullopt;
        list.emplace_back(std::move(*capability));
    }
    return list.empty() ? std::nullopt : std::optional{Value{std::move(list)}};
}

/// Newest runtime first, then the build for the fewest capabilities, then the lower rank: the
/// order of the project's own installer.
long long priority_of(const Prebuilt& artifact, unsigned line) {
    const auto span = parse_number<int>(artifact.capabilities.back()).value_or(0) -
                      parse_number<int>(artifact.capabilities.front()).value_or(0);
    const auto rank = std::clamp(artifact.rank.value_or(999), 0, 999);
    return 1'000'000LL * line - 1000LL * std::clamp(span, 0, 999) - rank;
}

/// Every NVIDIA GPU needs code of its own.
std::optional<Value> cuda_variant(const Prebuilt& artifact) {
    constexpr std::string_view kLine = "cuda";
    const auto sass = capabilities_from(artifact.capabilities);
    const auto line = artifact.line && artifact.line->starts_with(kLine)
                          ? parse_number<unsigned>(artifact.line->substr(kLine.size()))
                          : std::nullopt;
    if (!sass || !line || *line > 99)
        return std::nullopt;
    Value variant;
    variant["family"] = "cuda";
    variant["tier"] = 400;
    variant["priority"] = priority_of(artifact, *line);
    auto& needs = variant["requires"];
    needs["scope"] = "all";
    auto& device = needs["device"];
    device["backend"] = "cuda";
    device["cuda"]["toolkit"] = artifact.toolkit.value_or(std::to_string(*line) + ".0");
    device["cuda"]["sass"] = *sass;
    device["cuda"]["exact"] = true;
    return variant;
}

std::optional<Value> rocm_variant(const Prebuilt& artifact) {
    auto targets = artifact.mapped;
    if (artifact.gfx)
        targets.push_back(*artifact.gfx);
    if (targets.empty())
        return std::nullopt;
    std::ranges::sort(targets);
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    Value variant;
    variant["family"] = "rocm";
    variant["tier"] = 300;
    variant["requires"]["device"]["backend"] = "hip";
    variant["requires"]["device"]["gfx"] = to_value(targets);
    return variant;
}

struct Kind {
    std::string_view name;
    const char* platform;
    std::optional<Value> (*variant)(const Prebuilt&);
};
constexpr Kind kKinds[] = {
    {"linux-cuda", "linux-x86_64", cuda_variant},
    {"linux-arm64-cuda", "linux-aarch64", cuda_variant},
    {"linux-rocm", "linux-x86_64", rocm_variant},
};

class Importer {
public:
    Importer(const PrebuiltList& list, const PrebuiltHashes& hashes) : hashes_{hashes} {
        auto& manifest = imported_.manifest;
        manifest["schema"] = "gpuprobe.variants/1";
        manifest["name"] = list.component;
        manifest["version"] = list.upstream;
        manifest["platforms"] = Value{Value::Object{}};
        for (const auto& artifact : list.artifacts)
            add(artifact);
    }

    ImportedManifest take() { return std::move(imported_); }

private:
    void add(const Prebuilt& artifact) {
        const auto* kind = std::ranges::find(kKinds, artifact.kind, &Kind::name);
        if (kind == std::end(kKinds))
            return skip(artifact, "of another kind: " + artifact.kind);
        const auto hash = hashes_.artifacts.find(artifact.asset);
        if (hash == hashes_.artifacts.end())
            return skip(artifact, "no SHA-256");
        auto variant = kind->variant(artifact);
        if (!variant)
            return skip(artifact, "does not say what it needs");
        (*variant)["artifact"] = file_of(artifact, hash->second);
        auto& variants = imported_.manifest["platforms"][kind->platform]["variants"];
        const auto name = artifact.profile.value_or(artifact.asset);
        if (variants.find(name))
            return skip(artifact, "a second one of that profile");
        variants[name] = std::move(*variant);
    }

    Value file_of(const Prebuilt& artifact, const PrebuiltHash& hash) const {
        Value file;
        file["type"] = "file";
        file["urls"] = Value::Array{
            Value{"https://github.com/" + hash.repository.value_or(hashes_.repository) +
                  "/releases/download/" + hashes_.tag + "/" + artifact.asset}};
        file["sha256"] = hash.sha256;
        return file;
    }

    void skip(const Prebuilt& artifact, const std::string& why) {
        imported_.skipped.push_back(scrubbed(artifact.asset) + ": " + scrubbed(why));
    }

    const PrebuiltHashes& hashes_;
    ImportedManifest imported_ = {};
};

template <class T>
Result<T> document_from(std::string_view json, const char* what) {
    const auto value = parse_json(json, kMaxRelease);
    if (!value)
        return Error{value.error()}.in(what);
    auto record = record_from<T>(*value);
    if (!record)
        return std::move(record).error().in(what);
    return record;
}

}  // namespace

Result<ImportedManifest> import_unsloth(std::string_view list_json, std::string_view hashes_json) {
    const auto list = TRY(document_from<PrebuiltList>(list_json, "list"));
    const auto hashes = TRY(document_from<PrebuiltHashes>(hashes_json, "hashes"));
    auto imported = Importer{list, hashes}.take();
    const auto read = parse_manifest(json_line(imported.manifest));
    if (!read)
        return read.error();
    return imported;
}

}  // namespace gpuprobe
