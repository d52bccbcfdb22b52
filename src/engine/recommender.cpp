// SPDX-License-Identifier: Apache-2.0
#include "engine/recommender.h"

#include "base/files.h"
#include "base/parse.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxProductName = 128;

Reason ignored(const std::string& path, const Error& error) {
    return because("catalogue-ignored", {{"file", path}, {"problem", scrubbed(error.text)}});
}

Status add_file(const RootedFiles& files, const std::string& path, ProductSet& products) {
    return products.add(TRY(files.read(path, kMaxManifest)), path);
}

/// What was reported about variants; about backends it is select()'s.
std::vector<FailedVariant> failed_variants(const Experience& experience) {
    std::vector<FailedVariant> failed;
    for (const auto& failure : experience.failures) {
        if (failure.backend.find(':') == std::string::npos)
            continue;
        FailedVariant variant{.word = failure.backend, .gpu = failure.gpu};
        variant.detail["detail"] = failure.detail;
        variant.detail["at_usec"] = to_value(failure.at);
        failed.push_back(std::move(variant));
    }
    return failed;
}

}  // namespace

Result<Recommender> Recommender::create() {
    return Recommender{TRY(Rules::builtin())};
}

std::vector<Reason> Recommender::add_folders(const std::vector<std::string>& folders) {
    const RootedFiles files;
    std::vector<Reason> notes;
    for (const auto& folder : folders) {
        const auto names = files.list(folder);
        if (!names)
            continue;
        for (const auto& name : *names) {
            const auto path = folder + "/" + name;
            if (!name.ends_with(".json"))
                continue;
            if (const auto added = add_file(files, path, products_); !added)
                notes.push_back(ignored(path, added.error()));
        }
    }
    return notes;
}

Result<Manifest> Recommender::variants_of(const std::string& product,
                                          std::string_view manifest) const {
    if (product.size() > kMaxProductName)
        return Error{ErrorCode::InvalidRequest, "product: more than 128 bytes"};
    auto variants = manifest.empty() ? TRY(products_.find(product)) : TRY(parse_manifest(manifest));
    if (variants.name.empty())
        variants.name = scrubbed(product, kMaxProductName);
    return variants;
}

Result<Recommendation> Recommender::recommend(const Manifest& variants,
                                              const Value& request,
                                              const RecommendCircumstances& around) const {
    auto wanted = TRY(recommend_request_from(request));
    if (!around.rule.is_null())
        wanted = under_rule(std::move(wanted), TRY(recommend_request_from(around.rule)));
    const auto failed = failed_variants(around.experience);
    auto answer = gpuprobe::recommend(variants, wanted, around.report, rules_, failed);
    if (auto stale = staleness(variants, around.now))
        answer.warnings.push_back(std::move(*stale));
    return answer;
}

}  // namespace gpuprobe
