// SPDX-License-Identifier: Apache-2.0
/// The options of the sanitizers in programs that are built with GPUPROBE_SANITIZE. The options
/// cannot be set in the environment, because a worker gets its own environment. Sources: clang's
/// and gcc's manuals, "AddressSanitizer flags", "Common sanitizer flags"; LeakSanitizer,
/// "Suppressions".

#include <cerrno>
#include <cstring>

/// A crash ends the process by the same signal as without sanitizers, and so does an error that a
/// sanitizer finds.
#define LEAVES_SIGNALS_ALONE \
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:abort_on_error=1"

/// Loaders allocate as much memory as a driver requests. umockdev and other libraries are
/// preloaded. Freed memory is normally kept for some time, which would disturb tests that measure
/// memory.
extern "C" const char* __asan_default_options() {
    return LEAVES_SIGNALS_ALONE
        ":allocator_may_return_null=1:verify_asan_link_order=0:quarantine_size_mb=4";
}

/// Drivers leak memory, and so does a worker that a driver ends early.
extern "C" int __lsan_is_turned_off() {
    return std::strcmp(program_invocation_short_name, "gpuprobe-worker") == 0 ? 1 : 0;
}

/// If a bus does not answer, sdbus-c++ 1.2 leaks its sd_bus; the program then ends.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:sd_bus_new\n";
}
extern "C" const char* __lsan_default_options() {
    return "print_suppressions=0";
}

extern "C" const char* __ubsan_default_options() {
    return "abort_on_error=1";
}
extern "C" const char* __tsan_default_options() {
    return LEAVES_SIGNALS_ALONE ":allocator_may_return_null=1:halt_on_error=1";
}
