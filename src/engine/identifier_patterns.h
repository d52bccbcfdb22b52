// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/redaction.h"

namespace gpuprobe::engine {

/// The form of the placeholder that replaces an identifier.
enum class StandIn {
    Uuid,             ///< a UUID, "00000000-0000-4000-8000-000000000001"
    PlainUuid,        ///< a UUID without dashes
    UniqueId,         ///< sixteen hexadecimal digits, "a000000000000001"
    DecimalUniqueId,  ///< a number like UniqueId, in decimal
    Home,             ///< a home folder, "/home/user-1"
    Name,             ///< a name that can be part of a path, "user-1"
    Word,             ///< a word in brackets, "[serial-1]"
};

/// An identifier that was found in a text.
struct FoundIdentifier {
    std::size_t length = 0;  ///< length of the match, including a label
    std::size_t kept = 0;    ///< length of the label at the start of the match, which is kept
    StandIn form = StandIn::Word;
    std::string_view word = {};   ///< the word of a Home, Name or Word: "user" in "user-1"
    std::string identifier = {};  ///< the identifier in a form that is equal for all spellings
};

/// The identifier that begins at the position `at`, or nullopt. Call this function for each
/// position of a text in order, but skip the text of identifiers that were already found.
std::optional<FoundIdentifier> identifier_at(std::string_view text,
                                             std::size_t at,
                                             TextKind kind,
                                             const Identifiers& known);

}  // namespace gpuprobe::engine
