// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "recommend/predicate.h"

namespace gpuprobe {

/// What holds on each of up to 64 GPUs: bit n is about the nth.
struct GpuMask {
    std::uint64_t yes = 0;    ///< it is true
    std::uint64_t maybe = 0;  ///< it is not false; `yes` is a part of it
};

/// Predicates on all GPUs of a machine at once.
///
/// Manifests say the same of many variants and machines have many like GPUs, so what was answered
/// of late is kept, and like GPUs are asked once.
class GpuMasks {
public:
    /// Both are borrowed. No more than kMaxVariantGpus GPUs.
    GpuMasks(const std::vector<GpuFacts>& gpus, const Rules& rules);

    [[nodiscard]] GpuMask of(const Predicate& predicate);
    /// Where all of them hold on the same GPU.
    [[nodiscard]] GpuMask of(const Conjunction& predicates);
    [[nodiscard]] std::uint64_t all() const { return all_; }

private:
    struct Group {
        const GpuFacts* first = nullptr;
        std::uint64_t members = 0;
    };
    struct Kept {
        const Predicate* predicate = nullptr;
        GpuMask mask = {};
    };
    static constexpr std::size_t kKept = 16;
    struct Recent {
        std::array<Kept, kKept> entries = {};
        std::size_t next = 0;
    };

    [[nodiscard]] GpuMask ask(const Predicate& predicate) const;

    const Rules& rules_;
    std::vector<Group> groups_ = {};
    std::uint64_t all_ = 0;
    std::array<Recent, kPredicateKinds> recent_ = {};
};

}  // namespace gpuprobe
