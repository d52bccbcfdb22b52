// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/identifiers.h"
#include "engine/redaction.h"

namespace gpuprobe::engine {

/// The form that the stand-in of an identifier has.
enum class StandIn {
    Uuid,             ///< "00000000-0000-4000-8000-000000000001"
    PlainUuid,        ///< the same without dashes
    UniqueId,         ///< "a000000000000001"
    DecimalUniqueId,  ///< that in decimal
    Home,             ///< "/home/user-1"
    Name,             ///< "user-1": may be part of a path
    Word,             ///< "[serial-1]"
};

/// An identifier in a text.
struct FoundIdentifier {
    std::size_t length = 0;  ///< in the text, from where it was looked for
    std::size_t kept = 0;    ///< how much of its start is no part of it: a label
    StandIn form = StandIn::Word;
    std::string_view word = {};   ///< of a Name or Word
    std::string identifier = {};  ///< the same for all its spellings
};

/// The identifier that begins at `at`; nullopt if none does. Called for each place of a text in
/// turn, without those in what was found before.
std::optional<FoundIdentifier> identifier_at(std::string_view text,
                                             std::size_t at,
                                             TextKind kind,
                                             const Identifiers& known);

}  // namespace gpuprobe::engine
