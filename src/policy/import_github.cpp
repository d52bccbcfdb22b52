// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/parse.h"
#include "base/record.h"
#include "base/value_json.h"
#include "policy/import_manifest.h"
#include "policy/manifest.h"
#include "policy/manifest_reading.h"

namespace gpuprobe {
namespace {

constexpr std::string_view kOverlaySchema = "gpuprobe.overlay/1";
constexpr std::string_view kDigest = "sha256:";

struct Asset {
    std::string name = {};
    std::string url = {};
    std::optional<std::uint64_t> size = {};
    std::optional<std::string> digest = {};
};
template <class Visitor>
void describe(Visitor& visit, Asset& asset) {
    visit("name", asset.name);
    visit("browser_download_url", asset.url);
    visit("size", asset.size);
    visit("digest", asset.digest);
}

struct Release {
    std::string tag = {};
    std::optional<std::string> published = {};
    std::vector<Asset> assets = {};
};
template <class Visitor>
void describe(Visitor& visit, Release& release) {
    visit("tag_name", release.tag);
    visit("published_at", release.published);
    visit("assets", release.assets);
}

struct OverlayRule {
    std::string pattern = {};
    std::string platform = {};
    std::string variant = {};
    Value members = Value{Value::Object{}};  ///< of the variant
};

struct Overlay {
    std::string name = {};
    Value platforms = {};
    std::vector<OverlayRule> rules = {};
};

ReadProblem read_rule(const Value& value, OverlayRule& out) {
    auto problem = read_members(value, [&out](const std::string& key, const Value& member) {
        if (key == "pattern")
            return read_value(member, out.pattern);
        if (key == "platform")
            return read_value(member, out.platform);
        if (key == "variant")
            return read_value(member, out.variant);
        out.members[key] = member;
        return ReadProblem{};
    });
    for (const auto& [key, text] : {std::pair{"pattern", &out.pattern},
                                    {"platform", &out.platform},
                                    {"variant", &out.variant}})
        if (problem.empty() && text->empty())
            problem = ReadProblem{"missing"}.in(key);
    return problem;
}

ReadProblem read_rules(const Value& value, std::vector<OverlayRule>& out) {
    const auto* items = value.as_array();
    if (!items)
        return wrong_type(value, "array");
    if (items->size() > kMaxVariants)
        return "more than 512 rules";
    for (const auto& item : *items) {
        auto problem = read_rule(item, out.emplace_back());
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(out.size() - 1) + "]");
    }
    return {};
}

Result<Overlay> overlay_from(std::string_view json) {
    const auto root = TRY(parse_json(json, kMaxManifest));
    Overlay overlay;
    const auto problem =
        read_members(root, [&overlay](const std::string& key, const Value& value) -> ReadProblem {
            if (key == "schema")
                return value == Value{kOverlaySchema} ? "" : "not gpuprobe.overlay/1";
            if (key == "name")
                return read_value(value, overlay.name);
            if (key == "platforms")
                return read_value(value, overlay.platforms);
            return key == "rules" ? read_rules(value, overlay.rules)
                                  : ReadProblem{"unknown member"};
        });
    if (!problem.empty())
        return Error{ErrorCode::Malformed, problem.text()};
    if (!root.find("schema"))
        return Error{ErrorCode::Malformed, "schema: missing"};
    return overlay;
}

/// Why the file can't be a variant; empty when it can.
std::string unfit(const Asset& asset, const OverlayRule* rule) {
    if (!rule)
        return "no rule of the overlay";
    if (!asset.digest || !asset.digest->starts_with(kDigest))
        return "no SHA-256 digest";
    return "";
}

Value variant_of(const Asset& asset, const OverlayRule& rule) {
    Value artifact;
    artifact["type"] = "file";
    artifact["urls"] = Value::Array{Value{asset.url}};
    artifact["sha256"] = asset.digest->substr(kDigest.size());
    if (asset.size)
        artifact["size"] = static_cast<unsigned long long>(*asset.size);
    auto variant = rule.members;
    variant["artifact"] = std::move(artifact);
    return variant;
}

Value platform_start(const Overlay& overlay, const std::string& key) {
    auto platform = overlay.platforms.at(key);
    platform["variants"] = Value{Value::Object{}};
    return platform;
}

Result<Release> release_from(std::string_view json) {
    return record_from<Release>(TRY(parse_json(json, kMaxRelease)));
}

Value manifest_start(const Overlay& overlay, const Release& release) {
    Value manifest;
    manifest["schema"] = "gpuprobe.variants/1";
    manifest["name"] = overlay.name;
    manifest["version"] = release.tag;
    if (release.published)
        manifest["issued"] = *release.published;
    manifest["platforms"] = Value{Value::Object{}};
    return manifest;
}

Status add_asset(const Asset& asset, const Overlay& overlay, ImportedManifest& imported) {
    const auto rule = std::ranges::find_if(overlay.rules, [&asset](const OverlayRule& row) {
        return matches_pattern(row.pattern, asset.name);
    });
    const auto* found = rule == overlay.rules.end() ? nullptr : &*rule;
    if (const auto why = unfit(asset, found); !why.empty()) {
        imported.skipped.push_back(scrubbed(asset.name) + ": " + why);
        return Done{};
    }
    auto& platforms = *imported.manifest.find("platforms");
    if (!platforms.find(found->platform))
        platforms[found->platform] = platform_start(overlay, found->platform);
    auto& variants = *platforms.find(found->platform)->find("variants");
    if (variants.find(found->variant))
        return Error{ErrorCode::Malformed, "overlay: two files for " + scrubbed(found->platform) +
                                               "/" + scrubbed(found->variant)};
    variants[found->variant] = variant_of(asset, *found);
    return Done{};
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
    const auto pieces = split(pattern, '*');
    if (pieces.size() == 1)
        return pattern == text;
    if (!text.starts_with(pieces.front()))
        return false;
    text.remove_prefix(pieces.front().size());
    for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
        const auto found = text.find(pieces[i]);
        if (found == std::string_view::npos)
            return false;
        text.remove_prefix(found + pieces[i].size());
    }
    return text.ends_with(pieces.back());
}

Result<ImportedManifest> import_github(std::string_view release_json,
                                       std::string_view overlay_json) {
    auto overlay = overlay_from(overlay_json);
    if (!overlay)
        return std::move(overlay).error().in("overlay");
    auto release = release_from(release_json);
    if (!release)
        return std::move(release).error().in("release");
    ImportedManifest imported{.manifest = manifest_start(*overlay, *release)};
    for (const auto& asset : release->assets)
        TRY(add_asset(asset, *overlay, imported));
    const auto read = parse_manifest(json_line(imported.manifest));
    if (!read)
        return read.error();
    return imported;
}

}  // namespace gpuprobe
