// SPDX-License-Identifier: Apache-2.0
// Dies when it is loaded. Needs no library, so that one build does for every machine under test.
__attribute__((constructor)) static void crash(void) {
    __builtin_trap();
}
