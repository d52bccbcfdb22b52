// SPDX-License-Identifier: Apache-2.0
// Crashes when it is loaded. The library needs no other library, so that the same build works on
// every tested machine.
__attribute__((constructor)) static void crash(void) {
    __builtin_trap();
}
