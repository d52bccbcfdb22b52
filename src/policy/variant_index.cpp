// SPDX-License-Identifier: Apache-2.0
#include "policy/variant_index.h"

#include <functional>
#include <unordered_map>

#include "policy/manifest.h"

namespace gpuprobe::inline policy {
namespace {

/// Equal needs have equal hashes; what tells few needs apart is left out.
struct NeedHash {
    std::size_t value = 0;

    void add(std::size_t part) { value = value * 1'000'003U + part; }
    void add_text(const std::string& text) { add(std::hash<std::string>{}(text)); }
    void add_version(const Version& version) {
        for (const auto part : version.parts)
            add(part);
    }
    void add_version(const std::optional<Version>& version) {
        add_version(version.value_or(Version{}));
    }
    void add_targets(const std::optional<std::vector<CodeTarget>>& targets) {
        add(targets ? targets->size() + 1 : 0);
        if (targets)
            for (const auto& target : *targets)
                add(target.capability.major * 16 + target.capability.minor);
    }

    void operator()(std::monostate) { add(0); }
    void operator()(bool flag) { add(flag ? 1 : 0); }
    void operator()(Bytes bytes) { add(bytes.count); }
    void operator()(const Version& version) { add_version(version); }
    void operator()(const VersionRange& range) {
        add_version(range.min);
        add_version(range.max);
        add_version(range.below);
    }
    void operator()(const std::vector<std::string>& texts) {
        for (const auto& text : texts)
            add_text(text);
    }
    void operator()(const std::vector<Version>& versions) {
        for (const auto& version : versions)
            add_version(version);
    }
    void operator()(Api api) { add(place_of(api)); }
    void operator()(const std::vector<GfxTarget>& targets) {
        for (const auto& target : targets)
            add_text(target.processor);
    }
    void operator()(const CudaDriverNeed& need) {
        add_version(need.toolkit);
        add_version(need.min_driver);
    }
    void operator()(const CudaCode& code) {
        add_version(code.toolkit);
        add_targets(code.sass);
        add_targets(code.ptx);
    }
};

std::size_t hash_of(const Term& term) {
    NeedHash hash{static_cast<std::size_t>(term.fact)};
    hash.add(static_cast<std::size_t>(term.relation));
    std::visit([&hash](const auto& need) { hash(need); }, term.need);
    return hash.value;
}

class Indexer {
public:
    void add(const Variant& variant) {
        const auto& needs = variant.needs;
        index_.entries.push_back({.first = static_cast<std::uint32_t>(index_.words.size()),
                                  .host = static_cast<std::uint32_t>(needs.host.size()),
                                  .alternatives = static_cast<std::uint32_t>(needs.devices.size()),
                                  .tier = variant.tier,
                                  .priority = variant.priority,
                                  .needs_all = needs.scope == VariantScope::All,
                                  .is_supported = needs.unsupported.empty(),
                                  .accepts_unknown = variant.on_unknown == OnUnknown::Accept});
        add(needs.host);
        for (const auto& alternative : needs.devices) {
            index_.words.push_back(static_cast<std::uint32_t>(alternative.size()));
            add(alternative);
        }
    }

    VariantIndex take() { return std::move(index_); }

private:
    void add(const Conjunction& terms) {
        for (const auto& term : terms)
            index_.words.push_back(place_in_index(term));
    }

    std::uint32_t place_in_index(const Term& term) {
        const auto hash = hash_of(term);
        const auto [from, to] = places_.equal_range(hash);
        for (auto known = from; known != to; ++known)
            if (index_.terms[known->second] == term)
                return known->second;
        const auto place = static_cast<std::uint32_t>(index_.terms.size());
        index_.terms.push_back(term);
        places_.emplace(hash, place);
        return place;
    }

    VariantIndex index_ = {};
    std::unordered_multimap<std::size_t, std::uint32_t> places_ = {};
};

}  // namespace

VariantIndex index_of(const std::vector<Variant>& variants) {
    Indexer indexer;
    for (const auto& variant : variants)
        indexer.add(variant);
    return indexer.take();
}

}  // namespace gpuprobe::inline policy
