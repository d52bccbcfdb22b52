// SPDX-License-Identifier: Apache-2.0
/// What the sanitizers do in programs built with them (GPUPROBE_SANITIZE). The environment cannot
/// say it, as a worker gets one of its own. Sources: clang's and gcc's manuals, "AddressSanitizer
/// flags", "Common sanitizer flags"; LeakSanitizer, "Suppressions".

#include <cerrno>
#include <cstring>

/// A crash stays the signal that it is without them, and so does what they find.
#define LEAVES_SIGNALS_ALONE \
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:abort_on_error=1"

/// Loaders ask for as much as a driver says. umockdev and others are preloaded. What is freed is
/// kept for a while, which is not the memory a test counts.
extern "C" const char* __asan_default_options() {
    return LEAVES_SIGNALS_ALONE
        ":allocator_may_return_null=1:verify_asan_link_order=0:quarantine_size_mb=4";
}

/// Drivers leak, and a worker that one of them ends early leaks with it.
extern "C" int __lsan_is_turned_off() {
    return std::strcmp(program_invocation_short_name, "gpuprobe-worker") == 0 ? 1 : 0;
}

/// sdbus-c++ 1.2 gives up its sd_bus where a bus does not answer; the program ends then.
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
