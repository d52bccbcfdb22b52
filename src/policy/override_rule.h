// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/manifest.h"
#include "policy/recommend.h"
#include "policy/select.h"

namespace gpuprobe::inline policy {

/// An administrator's permanent rule for one application. A rule changes the order of the
/// candidates or restricts them, but cannot make a rejected candidate acceptable.
struct OverrideRule {
    SelectRequest request = {};
    /// The application's rule for variants, in the format of RecommendVariant's argument; null if
    /// the application has no such rule.
    Value variants = {};
};

/// Makes a rule from its named values: `prefer`, `only`, `deny`, `backend`, `gpus`, `min-memory`
/// and `strict` as in a request, and `variants`, an object. Errors: InvalidRequest, with the wrong
/// key or for an empty rule.
Result<OverrideRule> override_rule_from(const Value& rule);

/// Merges `change` into the rule: a key of `change` replaces the same key of the rule, also within
/// `variants`. A key with an empty list or string is removed.
Value merged_rule(const Value& rule, const Value& change);

/// Checks that every backend, GPU and variant in the rule exists. `profile` and `manifest` belong
/// to the rule's application and may be null. Without a profile, the rule may contain only
/// variants; without a manifest, the variants aren't checked. Errors: InvalidRequest and
/// UnknownDevice, with the wrong key and the most similar valid word.
Status check_rule(const OverrideRule& rule,
                  const Profile* profile,
                  const Manifest* manifest,
                  const Report& report);

/// Applies the parts of a rule about backends and GPUs to a request for variants, which names a
/// backend as "backend:cuda". Returns the request unchanged if the rule cannot be resolved.
RecommendRequest under_backend_rule(RecommendRequest request,
                                    const SelectRequest& rule,
                                    const Profile& profile,
                                    const Report& report);

/// Applies a rule to a request. The restrictions of the rule and of the request both apply (only,
/// gpus, deny, min-memory), the caller's choices (backend, strict) override the rule's choices, and
/// the caller's preferences come before the rule's preferences. If the rule names a GPU that does
/// not exist now, the rule permits no GPU. A missing GPU isn't an error here, because the caller
/// did not name the GPU.
SelectRequest under_rule(SelectRequest request,
                         const SelectRequest& rule,
                         const Profile& profile,
                         const Report& report);

}  // namespace gpuprobe::inline policy
