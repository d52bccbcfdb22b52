// SPDX-License-Identifier: Apache-2.0
#include "service/rest.h"

#include <fstream>

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "engine/knowledge_update.h"

namespace gpuprobe::inline service {
namespace {

/// Below this, no code is unmapped: cached answers alone need about as much.
constexpr Bytes kWorthUnmapping = mib(5);

/// Of files and memory that is shared. Source: proc(5), statm, the third number, in pages.
Bytes resident_files() {
    std::ifstream file{"/proc/self/statm"};
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    std::uint64_t shared = 0;
    file >> size >> resident >> shared;
    return Bytes{shared * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

/// Segments that nobody may write have the file's content: relocations are in others.
int unmap_code(dl_phdr_info* object, std::size_t /*size*/, void* /*unused*/) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0)
            continue;
        const auto begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
        const auto end =
            (object->dlpi_addr + segment.p_vaddr + segment.p_memsz + page - 1) & ~(page - 1);
        // It cannot fail but for memory that is locked, which is to stay.
        (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
    return 0;
}

}  // namespace

void give_back_free_heap() {
    constexpr std::size_t kWorthIt = std::size_t{256} << 10U;
    if (::mallinfo2().fordblks > kWorthIt)
        (void)::malloc_trim(0);
}

void give_back_code() {
    if (resident_files() > kWorthUnmapping)
        (void)::dl_iterate_phdr(unmap_code, nullptr);
}

void Rest::was_used() {
    give_back_free_heap();
    after_use_ = loop_.after(kAfterUse, [this] { begin(); });
}

void Rest::has_changed() {
    give_back_free_heap();
    after_change_ = loop_.after(kAfterChange, [this] { begin(); });
}

void Rest::begin() {
    after_use_.reset();
    after_change_.reset();
    engine::forget_tables();
    (void)::malloc_trim(0);
    give_back_code();
}

}  // namespace gpuprobe::inline service
