// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/select.h"

namespace gpuprobe {

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

/// The request with the rule below it: what narrows (only, gpus, deny, min-memory) holds both ways,
/// what chooses (backend, strict) is the caller's where the caller says something, and what the
/// caller prefers comes before what the rule prefers. A GPU of the rule that is not there now
/// allows nothing, and is no error: the caller did not name it.
SelectRequest under_rule(SelectRequest request,
                         const SelectRequest& rule,
                         const Profile& profile,
                         const Report& report);

}  // namespace gpuprobe
