// SPDX-License-Identifier: Apache-2.0
#include "plan/budget.h"

#include <algorithm>

#include "plan/size_math.h"
#include "policy/fact.h"

namespace gpuprobe::inline plan {

Budget budget_of(const GpuMemory& memory, const HostMemory& host, Bytes margin) {
    Budget budget;
    const auto take = [&budget](const std::optional<Bytes>& bytes, BudgetSource source) {
        if (budget.available || !bytes)
            return;
        budget.available = bytes;
        budget.source = source;
    };
    take(memory.free, BudgetSource::Free);
    take(memory_for_use(memory).value,
         memory.allocatable ? BudgetSource::Allocatable : BudgetSource::Physical);
    budget.is_shared_with_host = memory.kind == MemoryKind::Unified;
    if (budget.available && budget.is_shared_with_host && host.available)
        budget.available = std::min(*budget.available, *host.available);
    if (budget.available)
        budget.bytes = difference(*budget.available, margin);
    return budget;
}

}  // namespace gpuprobe::inline plan
