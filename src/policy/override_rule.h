// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/manifest.h"
#include "policy/recommend.h"
#include "policy/select.h"

namespace gpuprobe::inline policy {

/// What an administrator has decided for one consumer: a standing request that reorders or narrows.
/// It can't make a rejected candidate acceptable.
struct OverrideRule {
    SelectRequest request = {};
    Value variants =
        {};  ///< the same for its variants, as RecommendVariant takes it; null: nothing
};

/// A rule from its named values: `prefer`, `only`, `deny`, `backend`, `gpus`, `min-memory` and
/// `strict` as in a request, and `variants`, an object.
/// Errors: InvalidRequest, with the key at fault; an empty rule is one too.
Result<OverrideRule> override_rule_from(const Value& rule);

/// A rule with another one's keys in the place of its own, in `variants` too. A list or text that
/// is empty takes its key away.
Value merged_rule(const Value& rule, const Value& change);

/// Whether the rule means something: each backend, GPU and variant in it is there. `profile` and
/// `product` are those of its consumer; null where there is none, and its words are then not known.
/// Errors: InvalidRequest and UnknownDevice, with the key at fault and the nearest word.
Status check_rule(const OverrideRule& rule,
                  const Profile* profile,
                  const Manifest* product,
                  const Report& report);

/// What the rule says of backends and GPUs, for a request for variants: "backend:cuda". Nothing
/// where it can't be read.
RecommendRequest under_backend_rule(RecommendRequest request,
                                    const SelectRequest& rule,
                                    const Profile& profile,
                                    const Report& report);

/// The request with the rule below it: what narrows (only, gpus, deny, min-memory) holds both ways,
/// what chooses (backend, strict) is the caller's where the caller says something, and what the
/// caller prefers comes before what the rule prefers. A GPU of the rule that is not there now
/// allows nothing, and is no error: the caller did not name it.
SelectRequest under_rule(SelectRequest request,
                         const SelectRequest& rule,
                         const Profile& profile,
                         const Report& report);

}  // namespace gpuprobe::inline policy
