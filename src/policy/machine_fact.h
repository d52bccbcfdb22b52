// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "report/report.h"

/// The facts that predicates and texts of a profile may name; docs/profiles.md lists them.
namespace gpuprobe {

enum class FactKind { Word, Version, Size, Flag };

struct FactName {
    std::string_view name = {};
    FactKind kind = FactKind::Word;
    bool is_of_host = false;  ///< of the machine, whatever the GPU
};

/// What a fact is asked about.
struct FactScope {
    const Report& report;
    const Gpu* gpu = nullptr;                      // borrowed; null for none
    std::string_view backend = {};                 ///< ours; empty for none in particular
    std::optional<std::string> backend_word = {};  ///< the consumer's name of it
    std::optional<std::string> platform = {};  ///< another than the report's, like "darwin-arm64"
};

/// A fact that is not known; or is known not to be there (no words); or its words. Sizes are bytes
/// in digits, flags "true" or "false", words in lower case.
struct KnownFact {
    bool is_known = false;
    std::vector<std::string> words = {};
    std::optional<Bytes> at_most = {};  ///< of a size that is not known
};

/// Null when there is none of that name.
const FactName* find_machine_fact(std::string_view name);

/// Not known for a name that does not exist.
KnownFact machine_fact(std::string_view name, const FactScope& scope);

/// "linux-amd64": operating system and processor as Go and container images name them; nullopt when
/// the report does not know them.
std::optional<std::string> platform_of(const Host& host);

}  // namespace gpuprobe
