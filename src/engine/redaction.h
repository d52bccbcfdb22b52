// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/value.h"

namespace gpuprobe {

/// Replaces what identifies one card among all by numbered stand-ins of the same form.
class Redaction {
public:
    /// Every UUID (8-4-4-4-12) and every 16-digit hexadecimal word ("unique_id") in the text.
    [[nodiscard]] std::string masked(std::string_view text);
    /// The same in every text of a document; its numbers are no identifiers, however long.
    [[nodiscard]] Value masked_document(Value document);

private:
    std::map<std::string, unsigned> known_ = {};
};

}  // namespace gpuprobe
