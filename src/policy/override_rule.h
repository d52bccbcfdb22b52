// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/manifest.h"
#include "policy/recommend.h"
#include "policy/select.h"

namespace gpuprobe::inline policy {

/// An administrator's permanent rule for one application. It reorders or restricts, but can't make
/// a rejected candidate acceptable.
struct OverrideRule {
    SelectRequest request = {};
    Value variants =
        {};  ///< the same for its variants, as an argument of RecommendVariant; null: no rule
};

/// A rule from its named values: `prefer`, `only`, `deny`, `backend`, `gpus`, `min-memory` and
/// `strict` as in a request, and `variants`, an object. Errors: InvalidRequest with the key at
/// fault, also for an empty rule.
Result<OverrideRule> override_rule_from(const Value& rule);

/// A rule with some keys replaced by another rule's, also within `variants`. An empty list or text
/// removes its key.
Value merged_rule(const Value& rule, const Value& change);

/// Checks that every backend, GPU and variant in the rule exists. `profile` and `manifest` belong
/// to the rule's application; if one is null, words that refer to it can't be checked. Errors:
/// InvalidRequest and UnknownDevice, with the key at fault and the most similar word.
Status check_rule(const OverrideRule& rule,
                  const Profile* profile,
                  const Manifest* manifest,
                  const Report& report);

/// Applies the parts of a rule about backends and GPUs to a request for variants: "backend:cuda".
/// Returns the request unchanged if the rule can't be resolved.
RecommendRequest under_backend_rule(RecommendRequest request,
                                    const SelectRequest& rule,
                                    const Profile& profile,
                                    const Report& report);

/// Applies a rule to a request. Restrictions of both apply (only, gpus, deny, min-memory), choices
/// (backend, strict) of the caller override the rule's, and the caller's preferences come before
/// the rule's. If the rule names a GPU that does not exist now, it permits no GPU; that isn't an
/// error, because the caller did not name it.
SelectRequest under_rule(SelectRequest request,
                         const SelectRequest& rule,
                         const Profile& profile,
                         const Report& report);

}  // namespace gpuprobe::inline policy
