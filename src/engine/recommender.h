// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/experience.h"
#include "policy/product_set.h"
#include "policy/recommend.h"
#include "report/report.h"

namespace gpuprobe {

/// What one answer rests on beside the manifest, borrowed for one call.
struct RecommendCircumstances {
    const Report& report;
    const Value& rule;  ///< an administrator's standing request; null: none
    const Experience& experience;
    WallTime now = {};
};

/// The rules, and the manifests that are installed.
class Recommender {
public:
    /// Errors: those of Rules::builtin().
    static Result<Recommender> create();

    /// Adds every `*.json` of the folders, in order; later ones replace. A folder that is not there
    /// adds nothing. Returns one `catalogue-ignored` note for each file that is no manifest.
    std::vector<Reason> add_folders(const std::vector<std::string>& folders);

    [[nodiscard]] std::vector<std::string> products() const { return products_.names(); }

    /// With the text of a manifest, `product` names it where it has no name of its own; without one
    /// it is the name of an installed manifest.
    ///
    /// Errors: NotFound for a product that is not installed, TooLarge and Malformed for a manifest,
    /// InvalidRequest.
    [[nodiscard]] Result<Manifest> variants_of(const std::string& product,
                                               std::string_view manifest) const;

    /// Errors: InvalidRequest.
    [[nodiscard]] Result<Recommendation> recommend(const Manifest& variants,
                                                   const Value& request,
                                                   const RecommendCircumstances& around) const;

private:
    explicit Recommender(Rules rules) : rules_{std::move(rules)} {}

    Rules rules_;
    ProductSet products_ = ProductSet::with_builtins();
};

}  // namespace gpuprobe
