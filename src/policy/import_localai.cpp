// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "base/parse.h"
#include "base/value_json.h"
#include "policy/import_manifest.h"
#include "policy/manifest.h"
#include "policy/yaml_tree.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxEntries = 4096;

/// What a key of `capabilities` says of the machine.
struct Capability {
    std::string_view key;
    const char* platform;
    unsigned cuda;        ///< major version when the image's tag has none; 0: no CUDA
    const char* variant;  ///< all but the toolkit and the artifact
};
/// LocalAI takes a GPU with more than 4 GiB, except on arm64, and asks for no code. The list does
/// not say which processors an image is for: those of l4t are for arm64, others for x86_64 at
/// least.
///
/// Source: mudler/LocalAI@82c191af, pkg/system/capabilities.go. The Vulkan images need glibc 2.38
/// of the host: LocalAI#7914. JetPack of l4t and l4t-cuda-12 is for Jetsons alone.
constexpr Capability kCapabilities[] = {
    {"nvidia-cuda-13", "linux-x86_64", 13, R"({"family":"cuda","tier":400,"priority":13,
      "requires":{"device":{"backend":"cuda","cuda":{},"vram_min_mib":4097}}})"},
    {"nvidia-cuda-12", "linux-x86_64", 12, R"({"family":"cuda","tier":400,"priority":12,
      "requires":{"device":{"backend":"cuda","cuda":{},"vram_min_mib":4097}}})"},
    {"nvidia", "linux-x86_64", 12, R"({"family":"cuda","tier":400,"priority":11,
      "requires":{"device":{"backend":"cuda","cuda":{},"vram_min_mib":4097}}})"},
    {"nvidia-l4t-cuda-13", "linux-aarch64", 13, R"({"family":"cuda","tier":400,"priority":13,
      "requires":{"device":{"backend":"cuda","cuda":{}}}})"},
    {"nvidia-l4t-cuda-12", "linux-aarch64", 12, R"({"family":"cuda","tier":400,"priority":12,
      "requires":{"device":{"backend":"cuda","kinds":["tegra"],"cuda":{}}}})"},
    {"nvidia-l4t", "linux-aarch64", 12, R"({"family":"cuda","tier":400,"priority":11,
      "requires":{"device":{"backend":"cuda","kinds":["tegra"],"cuda":{}}}})"},
    {"amd", "linux-x86_64", 0, R"({"family":"rocm","tier":300,
      "requires":{"device":{"vendor":["amd"],"vram_min_mib":4097}}})"},
    {"intel", "linux-x86_64", 0, R"({"family":"sycl","tier":250,"requires":{"device":
      {"backend":"level_zero","vendor":["intel"],"vram_min_mib":4097}}})"},
    {"vulkan", "linux-x86_64", 0, R"({"family":"vulkan","tier":200,
      "requires":{"host":{"glibc_min":"2.38"},"device":{"backend":"vulkan","vram_min_mib":4097,
      "kinds":["discrete","integrated","tegra"],
      "vulkan":{"instance_min":"1.2","features":["storageBuffer16BitAccess"]}}}})"},
    {"default", "linux-x86_64", 0, R"({"family":"cpu","tier":0,"priority":1})"},
    {"cpu", "linux-x86_64", 0, R"({"family":"cpu","tier":0})"},
};

struct Entry {
    std::string name = {};
    std::string uri = {};                    ///< empty: none
    const YamlNode* capabilities = nullptr;  ///< a mapping; null: none
    bool is_meta() const { return capabilities && uri.empty(); }
};

Error malformed(const std::string& place, const std::string& what) {
    return Error{ErrorCode::Malformed, what}.in(scrubbed(place));
}

/// The text of a member; empty when there is none.
Result<std::string> text_member(const YamlMembers& members, std::string_view key) {
    const auto found = members.find(key);
    if (found == members.end() || found->second->kind == YamlKind::Null)
        return std::string{};
    if (found->second->kind != YamlKind::Text)
        return malformed(std::string{key}, "not a text");
    return found->second->text;
}

Result<Entry> entry_from(const YamlTree& tree, const YamlNode& node, const std::string& place) {
    const auto members = tree.members_of(node);
    if (!members)
        return Error{members.error()}.in(place);
    auto name = text_member(*members, "name");
    if (!name)
        return std::move(name).error().in(place);
    if (name->empty())
        return malformed(place, "name: missing");
    const auto named = place + " (" + scrubbed(*name) + ")";
    auto uri = text_member(*members, "uri");
    if (!uri)
        return std::move(uri).error().in(named);
    Entry entry{.name = std::move(*name), .uri = std::move(*uri)};
    const auto found = members->find("capabilities");
    if (found == members->end() || found->second->kind == YamlKind::Null)
        return entry;
    if (found->second->kind != YamlKind::Mapping)
        return malformed(named, "capabilities: not a mapping");
    entry.capabilities = found->second;
    return entry;
}

Result<std::vector<Entry>> entries_of(const YamlTree& tree) {
    if (tree.root().kind != YamlKind::List)
        return Error{ErrorCode::Malformed, "not a list"};
    const auto& items = tree.root().items;
    if (items.size() > kMaxEntries)
        return Error{ErrorCode::Malformed, "more than 4096 entries"};
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < items.size(); ++i)
        entries.push_back(TRY(entry_from(tree, tree.at(items[i]), "[" + std::to_string(i) + "]")));
    return entries;
}

/// The entry of that name with capabilities; without a name the only one that there is.
Result<Entry> chosen_entry(const std::vector<Entry>& entries, std::string_view name) {
    constexpr std::size_t kShown = 8;
    std::vector<const Entry*> fit;
    for (const auto& entry : entries)
        if (entry.is_meta() && (name.empty() || entry.name == name))
            fit.push_back(&entry);
    if (fit.size() == 1 || (!fit.empty() && !name.empty()))
        return *fit.front();
    if (!name.empty())
        return malformed(std::string{name}, "no entry with capabilities and without uri");
    if (fit.empty())
        return Error{ErrorCode::Malformed, "no entry with capabilities and without uri"};
    std::string names;
    for (std::size_t i = 0; i < std::min(fit.size(), kShown); ++i)
        names += (i == 0 ? "" : ", ") + scrubbed(fit[i]->name);
    return Error{ErrorCode::Malformed, std::to_string(fit.size()) + " entries, name one: " + names +
                                           (fit.size() > kShown ? " …" : "")};
}

/// "…-gpu-nvidia-cuda-12-llama-cpp" is 12.
std::optional<unsigned> cuda_of(std::string_view ref) {
    constexpr std::string_view kCuda = "-cuda-";
    const auto found = ref.find(kCuda);
    if (found == std::string_view::npos)
        return std::nullopt;
    const auto rest = ref.substr(found + kCuda.size());
    return parse_number<unsigned>(rest.substr(0, rest.find('-')));
}

class Importer {
public:
    Importer(const std::vector<Entry>& entries, const std::string& name) {
        // LocalAI takes the first of a name, too.
        for (const auto& entry : entries)
            if (!entry.uri.empty())
                references_.emplace(entry.name, entry.uri);
        auto& manifest = imported_.manifest;
        manifest["schema"] = "gpuprobe.variants/1";
        manifest["name"] = "localai-" + name;
        manifest["platforms"] = Value{Value::Object{}};
    }

    void add(std::string_view key, const std::string& backend) {
        const auto* row = std::ranges::find(kCapabilities, key, &Capability::key);
        if (row == std::end(kCapabilities))
            return skip(key, "stands for no GPU known on Linux");
        const auto found = references_.find(backend);
        if (found == references_.end())
            return skip(key, "no backend with uri: " + backend);
        std::string_view ref = found->second;
        if (constexpr std::string_view kScheme = "oci://"; ref.starts_with(kScheme))
            ref.remove_prefix(kScheme.size());
        if (const auto why = unfit(*row, ref); !why.empty())
            return skip(key, why + scrubbed(ref));
        auto& platform = imported_.manifest["platforms"][row->platform];
        if (row->cuda == 0 && (key == "default" || (key == "cpu" && !platform.find("default"))))
            platform["default"] = std::string{key};
        platform["variants"][std::string{key}] = variant_of(*row, ref);
    }

    ImportedManifest take() { return std::move(imported_); }

private:
    /// Some capabilities name the build of another one.
    static std::string unfit(const Capability& row, std::string_view ref) {
        const auto has = [ref](std::string_view word) { return ref.find(word) != ref.npos; };
        const auto is_for_cpu = std::string_view{row.key} == "default" || row.key == "cpu";
        if (has("://"))
            return "not an OCI reference: ";
        if (is_for_cpu ? has("-gpu-") || has("-l4t-") : has("-cpu-"))
            return is_for_cpu ? "a build for a GPU: " : "a build for processors: ";
        return "";
    }

    static Value variant_of(const Capability& row, std::string_view ref) {
        auto variant = parse_json(row.variant, kMaxManifest).value();
        if (row.cuda != 0)
            variant["requires"]["device"]["cuda"]["toolkit"] =
                std::to_string(cuda_of(ref).value_or(row.cuda)) + ".0";
        variant["artifact"]["type"] = "oci";
        variant["artifact"]["ref"] = std::string{ref};
        return variant;
    }

    void skip(std::string_view key, const std::string& why) {
        imported_.skipped.push_back(scrubbed(key) + ": " + scrubbed(why));
    }

    std::map<std::string, std::string> references_ = {};
    ImportedManifest imported_ = {};
};

Result<ImportedManifest> import_tree(const YamlTree& tree, std::string_view name) {
    const auto entries = TRY(entries_of(tree));
    const auto meta = TRY(chosen_entry(entries, name));
    const auto capabilities = tree.members_of(*meta.capabilities);
    if (!capabilities)
        return Error{capabilities.error()}.in("capabilities").in(scrubbed(meta.name));
    Importer importer{entries, meta.name};
    for (const auto& [key, node] : *capabilities) {
        if (node->kind != YamlKind::Text)
            return malformed(meta.name, "capabilities." + scrubbed(key) + ": not a text");
        importer.add(key, node->text);
    }
    return importer.take();
}

}  // namespace

Result<ImportedManifest> import_localai(std::string_view index, std::string_view name) {
    const auto tree = parse_yaml(index, kMaxRelease);
    if (!tree)
        return Error{tree.error()}.in("index");
    auto imported = import_tree(*tree, name);
    if (!imported)
        return std::move(imported).error().in("index");
    const auto read = parse_manifest(json_line(imported->manifest));
    if (!read)
        return read.error();
    return imported;
}

}  // namespace gpuprobe
