// SPDX-License-Identifier: Apache-2.0
#include "service/idle_memory.h"

#include <malloc.h>

#include "engine/knowledge_base.h"

namespace gpuprobe::inline service {
namespace {

void trim_heap() {
    constexpr std::size_t kWorthTrimming = std::size_t{256} << 10U;
    if (::mallinfo2().fordblks > kWorthTrimming)
        (void)::malloc_trim(0);
}

}  // namespace

void IdleMemory::was_used() {
    trim_heap();
    after_use_ = loop_.after(kAfterUse, [this] { release(); });
}

void IdleMemory::has_changed() {
    trim_heap();
    after_change_ = loop_.after(kAfterChange, [this] { release(); });
}

void IdleMemory::release() {
    after_use_.reset();
    after_change_.reset();
    engine::forget_tables();
    (void)::malloc_trim(0);
}

}  // namespace gpuprobe::inline service
