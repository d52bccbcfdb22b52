// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "decide/decision.h"
#include "decide/profile.h"
#include "report/report.h"

namespace gpuprobe {

/// What only the caller knows.
struct SelectRequest {
    std::optional<std::vector<std::string>> built = {};  ///< backends compiled in; absent: any
    std::vector<std::string> deny = {};                  ///< backends or GPU ids never to use
    std::optional<std::string> backend = {};             ///< forced; no other is considered
    std::optional<bool> strict = {};                     ///< absent: as the profile says
    std::optional<Bytes> min_memory = {};                ///< per GPU, of `allocatable`
};

/// A request from its named values. Errors: InvalidRequest, with the key at fault, for an unknown
/// key, a wrong type or an impossible value.
Result<SelectRequest> select_request_from(const Value& object);

/// The choice, and every candidate with its verdict. Pure: the same inputs give the same answer
/// whatever their order. Errors: InvalidRequest, when the request names a backend that the profile
/// does not know.
Result<Decision> select(const Profile& profile, const SelectRequest& request, const Report& report);

}  // namespace gpuprobe
