// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/event_loop.h"

namespace gpuprobe::inline service {

/// Heap that is free goes back to the kernel. What a crowd of callers took, glibc keeps for the
/// next one: of 200 connections that ask 250 times each, 88 MB stayed resident, of which 1.3 were
/// in use. A report that is made anew leaves the memory of the one before.
void give_back_free_heap();

/// The pages of this program and its libraries that are only read are no longer mapped. The kernel
/// maps sixteen around each one that is touched (mm/memory.c, fault_around_bytes), so that after
/// the start nearly all of them are resident, and 5 of 9 MiB are never used again. They stay in the
/// page cache as long as the machine has memory, and the next touch maps them again, some hundred
/// nanoseconds for sixteen. A debugger's breakpoints in this process are lost.
void give_back_code();

/// Gives memory back when nobody asks: what the start, a crowd or a new report needed and cached
/// answers do not.
class Rest {
public:
    /// After what was asked last, and after what has changed last.
    static constexpr Duration kAfterUse = std::chrono::seconds{3};
    static constexpr Duration kAfterChange = std::chrono::milliseconds{250};

    explicit Rest(EventLoop& loop) : loop_{loop} {}

    void was_used();
    void has_changed();

private:
    void begin();

    EventLoop& loop_;
    EventHandle after_use_ = {};
    EventHandle after_change_ = {};
};

}  // namespace gpuprobe::inline service
