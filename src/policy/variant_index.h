// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "policy/term.h"

namespace gpuprobe::inline policy {

struct Variant;

/// What evaluate() reads of a platform's variants, in few pieces: the variants of a manifest mostly
/// ask the same, so that each term is there once, and asked once.
struct VariantIndex {
    /// One variant. `words` holds from `first` on: the host's terms, then for each alternative
    /// the number of its terms and these.
    struct Entry {
        std::uint32_t first = 0;
        std::uint32_t host = 0;
        std::uint32_t alternatives = 0;
        int tier = 0;
        int priority = 0;
        bool needs_all = false;    ///< scope
        bool is_supported = true;  ///< no word that is not known stands beside host and device
        bool accepts_unknown = false;
    };
    std::vector<Term> terms = {};           ///< each once
    std::vector<std::uint32_t> words = {};  ///< places in `terms`, and counts
    std::vector<Entry> entries = {};        ///< of each variant, in their order
};

VariantIndex index_of(const std::vector<Variant>& variants);

}  // namespace gpuprobe::inline policy
