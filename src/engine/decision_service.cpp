// SPDX-License-Identifier: Apache-2.0
#include "engine/decision_service.h"

#include <functional>

#include "base/files.h"
#include "base/parse.h"
#include "base/suggestion.h"
#include "policy/select.h"

namespace gpuprobe::engine {
namespace {

constexpr Bytes kMaxProfile = kib(256);
constexpr std::size_t kMaxProductName = 128;

using Add = std::function<Status(std::string text, const std::string& path)>;

/// Passes the text of every `*.json` in the folders to `add`, in order. A missing folder adds
/// nothing. Returns one note with the given code for each file that could not be added.
std::vector<Reason> add_files(const std::vector<std::string>& folders,
                              Bytes limit,
                              ReasonCode code_if_ignored,
                              const Add& add) {
    const RootedFiles files;
    std::vector<Reason> notes;
    for (const auto& folder : folders) {
        auto names = files.list(folder).value_or({});
        for (const auto& name : names) {
            if (!name.ends_with(".json"))
                continue;
            const auto path = folder + "/" + name;
            auto text = files.read(path, limit);
            const auto added = text ? add(std::move(*text), path) : Status{text.error()};
            if (!added)
                notes.push_back(because(
                    code_if_ignored, {{"file", path}, {"problem", scrubbed(added.error().text)}}));
        }
    }
    return notes;
}

Error unknown_consumer(const std::string& name, const std::vector<std::string>& known) {
    return {ErrorCode::UnknownConsumer,
            "no consumer '" + scrubbed(name, 64) + "'" + suggestion(name, known)};
}

/// The failures that were reported about variants. Those about backends concern select() only.
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

DecisionService::DecisionService(Documents documents, Folders folders)
    : folders_{std::move(folders)},
      documents_{std::move(documents)},
      feedback_{folders_.state},
      set_aside_{feedback_.load()} {}

Result<DecisionService::Documents> DecisionService::read(const Folders& folders) {
    Documents documents{.profiles = TRY(ProfileSet::with_builtins()),
                        .products = ProductSet::with_builtins(),
                        .rules = TRY(Rules::builtin())};
    documents.ignored = add_files(folders.profiles, kMaxProfile, "profile-ignored",
                                  [&](const std::string& text, const std::string& path) {
                                      return documents.profiles.add(text, path);
                                  });
    const auto more = add_files(folders.catalogues, kMaxManifest, "catalogue-ignored",
                                [&](std::string text, const std::string& path) {
                                    return documents.products.add(std::move(text), path);
                                });
    documents.ignored.insert(documents.ignored.end(), more.begin(), more.end());
    return documents;
}

Result<DecisionService> DecisionService::create(Folders folders) {
    auto documents = TRY(read(folders));
    return DecisionService{std::move(documents), std::move(folders)};
}

Status DecisionService::reload() {
    documents_ = TRY(read(folders_));
    return Done{};
}

std::vector<Reason> DecisionService::notes() const {
    auto notes = documents_.ignored;
    notes.insert(notes.end(), set_aside_.begin(), set_aside_.end());
    return notes;
}

Result<Decision> DecisionService::select(const std::string& consumer,
                                         const Value& request,
                                         const CallerContext& caller) const {
    const auto* profile = documents_.profiles.find(consumer);
    if (!profile)
        return unknown_consumer(consumer, consumers());
    auto wanted = TRY(select_request_from(request));
    if (const auto rule = feedback_.rule_for(consumer))
        wanted = under_rule(std::move(wanted), rule->request, *profile, caller.seen);
    return gpuprobe::select(
        *profile, wanted, caller.seen,
        feedback_.experience_of(caller.uid, consumer, caller.machine, caller.now));
}

Result<Manifest> DecisionService::manifest_of(const std::string& product,
                                              std::string_view manifest) const {
    if (product.size() > kMaxProductName)
        return Error{ErrorCode::InvalidRequest, "product: more than 128 bytes"};
    auto found =
        manifest.empty() ? TRY(documents_.products.find(product)) : TRY(parse_manifest(manifest));
    if (found.name.empty())
        found.name = scrubbed(product, kMaxProductName);
    return found;
}

Result<Recommendation> DecisionService::recommend(const std::string& product,
                                                  std::string_view manifest,
                                                  const Value& request,
                                                  const CallerContext& caller) const {
    const auto variants = TRY(manifest_of(product, manifest));
    // Without a product the manifest's own name tells which override and failures apply.
    const auto& name = product.empty() ? variants.name : product;
    auto wanted = TRY(recommend_request_from(request));
    if (const auto rule = feedback_.rule_for(name); rule && !rule->variants.is_null())
        wanted = under_rule(std::move(wanted), TRY(recommend_request_from(rule->variants)));
    const auto experience = feedback_.experience_of(caller.uid, name, caller.machine, caller.now);
    auto recommendation = gpuprobe::recommend(variants, wanted, caller.seen, documents_.rules,
                                              failed_variants(experience));
    if (auto stale = staleness(variants, caller.now))
        recommendation.warnings.push_back(std::move(*stale));
    return recommendation;
}

}  // namespace gpuprobe::engine
