// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/record.h"
#include "report/report.h"

namespace gpuprobe::inline plan {

/// Which reading a budget rests on.
enum class BudgetSource { Free, Allocatable, Physical };
constexpr std::array<EnumName<BudgetSource>, 3> names_of(BudgetSource) {
    return {{{BudgetSource::Free, "free"},
             {BudgetSource::Allocatable, "allocatable"},
             {BudgetSource::Physical, "physical"}}};
}

/// What a program may take of one GPU.
struct Budget {
    std::optional<Bytes> available = {};      ///< before the margin; null when nothing is known
    std::optional<BudgetSource> source = {};  ///< of `available`
    std::optional<Bytes> bytes = {};          ///< with the margin taken off
    bool is_shared_with_host = false;         ///< bounded by the host's free memory
    bool operator==(const Budget&) const = default;
};
RECORD_MEMBERS(Budget, available, source, bytes, is_shared_with_host)

/// llama.cpp leaves this much free per device when it fits a model itself (common/fit.cpp).
constexpr Bytes kDefaultMargin = mib(1024);

/// Free memory less the margin; what can be allocated, or what is on the board, where nobody tells
/// what is free. Unified memory is the host's: never more than that has available. An AMD carve-out
/// is the GPU's own, and the report bounds the rest of it already.
Budget budget_of(const GpuMemory& memory, const HostMemory& host, Bytes margin);

}  // namespace gpuprobe::inline plan
