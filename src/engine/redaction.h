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
    /// Every UUID (8-4-4-4-12), every 16-digit hexadecimal word ("unique_id"), and the same number
    /// where KFD writes it in decimal.
    [[nodiscard]] std::string masked(std::string_view text);
    /// The same in every text of a document; its numbers are no identifiers, however long.
    [[nodiscard]] Value masked_document(Value document);

private:
    /// The same number for the same identifier, counted from 1.
    [[nodiscard]] unsigned number_of(std::string_view identifier);
    [[nodiscard]] std::string stand_in(std::string_view unique_id);

    std::map<std::string, unsigned> known_ = {};
};

}  // namespace gpuprobe
