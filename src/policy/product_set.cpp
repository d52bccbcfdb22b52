// SPDX-License-Identifier: Apache-2.0
#include "policy/product_set.h"

#include "base/parse.h"
#include "base/suggestion.h"
#include "policy/builtin_documents.h"

namespace gpuprobe {

ProductSet ProductSet::with_builtins() {
    ProductSet set;
    // A catalogue's file is called as its product; tests/unit/policy/product_set_test.cpp.
    for (const auto& document : builtin_catalogue())
        set.builtins_.emplace(document.name, document.json);
    return set;
}

Status ProductSet::add(std::string json, std::string_view origin) {
    auto manifest = parse_manifest(json);
    if (!manifest)
        return std::move(manifest).error().in(origin);
    if (manifest->name.empty())
        return Error{ErrorCode::Malformed, std::string{origin} + ": name: missing"};
    if (added_.size() >= kMaxProducts && !added_.contains(manifest->name))
        return Error{ErrorCode::TooLarge, std::string{origin} + ": more than " +
                                              std::to_string(kMaxProducts) + " products"};
    added_.insert_or_assign(manifest->name, std::move(json));
    return Done{};
}

Result<Manifest> ProductSet::find(std::string_view product) const {
    if (const auto found = added_.find(product); found != added_.end())
        return parse_manifest(found->second);
    if (const auto found = builtins_.find(product); found != builtins_.end())
        return parse_manifest(found->second);
    return Error{ErrorCode::NotFound,
                 "no product '" + scrubbed(product, 64) + "'" + suggestion(product, names())};
}

std::vector<std::string> ProductSet::names() const {
    auto all = builtins_;
    for (const auto& [name, json] : added_)
        all.emplace(name, json);
    std::vector<std::string> names;
    for (const auto& [name, json] : all)
        names.push_back(name);
    return names;
}

}  // namespace gpuprobe
