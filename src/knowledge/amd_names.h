// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// AMD's marketing names: data/knowledge/amd_names.json.

namespace gpuprobe::knowledge {

/// The name of one revision of a PCI device. AMD sells one device id under several names.
struct AmdName {
    std::string device = {};    ///< PCI device id, four hexadecimal digits
    std::string revision = {};  ///< PCI revision, two hexadecimal digits
    std::string name = {};      ///< marketing name: "AMD Radeon RX 7900 XTX"
};

class AmdNames {
public:
    /// The table of the knowledge base in use. The reference is valid until another knowledge base
    /// is put into use.
    static const AmdNames& current();
    /// Reads amd_names.json. Errors: TooLarge; Malformed, also if a revision has two names.
    static Result<AmdNames> from(std::string_view json);

    /// The name of that revision of a device; nullopt if the name is unknown. Both arguments are
    /// lower-case hexadecimal digits.
    [[nodiscard]] std::optional<std::string> find(std::string_view device,
                                                  std::string_view revision) const;

private:
    std::vector<AmdName> rows_ = {};  ///< sorted by device and revision
};

}  // namespace gpuprobe::knowledge
