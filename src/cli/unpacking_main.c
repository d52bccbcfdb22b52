// SPDX-License-Identifier: Apache-2.0
// The start of a packed program (tools/packaging/pack): it unpacks the segments of a static program
// to the addresses that they were linked for, and jumps to the program's entry. This code is linked
// with libzstd and without a C library. The rest of this program is in packed_segments.h, which
// tools/packaging/pack writes.
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define ZSTD_STATIC_LINKING_ONLY  // for a decoder that uses the caller's memory
#include <zstd.h>

// A segment of the program, compressed as one frame of Zstandard.
struct segment {
    uintptr_t address;
    size_t memory;  // size in bytes; the bytes after the unpacked data are 0
    const unsigned char* packed;
    const unsigned char* packed_end;
    int protection;
};
#include "packed_segments.h"

enum { kPage = PACKED_PAGE, kCannotRun = 126, kNoReplace = 0x100000 };

static long call(long number, long a, long b, long c, long d) {
#if defined __aarch64__
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = -1;  // no descriptor
    register long x5 __asm__("x5") = 0;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = -1;  // no descriptor
    register long r9 __asm__("r9") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#endif
}

// libzstd may have been compiled with a stack protector, whose value a C library would set.
// On x86-64 the value is at %fs:0x28 (source: the psABI); on aarch64 it is in a global variable.
#if defined __aarch64__
uintptr_t __stack_chk_guard = 0;
static void set_up_stack_protector(void) {}
#else
static void set_up_stack_protector(void) {
    static uint64_t thread_block[8];
    enum { kSetFs = 0x1002 };
    call(SYS_arch_prctl, kSetFs, (long)thread_block, 0, 0);
}
#endif

static void fail(void) {
    static const char kText[] =
        "gpuprobe: this machine forbids programs that unpack themselves in memory\n";
    call(SYS_write, 2, (long)kText, sizeof kText - 1, 0);
    call(SYS_exit_group, kCannotRun, 0, 0, 0);
}

typedef uint64_t __attribute__((aligned(1), may_alias)) unaligned;

// The C library functions that libzstd calls. The decoder does not allocate, because this program
// passes memory to it.
void* memcpy(void* restrict to, const void* restrict from, size_t size) {
    unsigned char* next = to;
    const unsigned char* at = from;
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
        *(unaligned*)next = *(const unaligned*)at;
        next += sizeof(uint64_t);
        at += sizeof(uint64_t);
    }
    for (; size > 0; --size)
        *next++ = *at++;
    return to;
}

void* memmove(void* to, const void* from, size_t size) {
    if ((uintptr_t)to - (uintptr_t)from >= size)
        return memcpy(to, from, size);
    unsigned char* end = to;
    for (const unsigned char* at = from; size > 0; --size)
        end[size - 1] = at[size - 1];
    return to;
}

void* memset(void* to, int byte, size_t size) {
    unsigned char* next = to;
    for (; size > 0; --size)
        *next++ = (unsigned char)byte;
    return to;
}

void* malloc(size_t size) {
    (void)size;
    return NULL;
}

void* calloc(size_t count, size_t size) {
    (void)count, (void)size;
    return NULL;
}

void free(void* memory) {
    (void)memory;
}

void __stack_chk_fail(void) {
    fail();
}

static void load(const struct segment* segment, ZSTD_DCtx* decoder) {
    const uintptr_t start = segment->address & -(uintptr_t)kPage;
    const size_t size = (segment->address + segment->memory - start + kPage - 1) & -(size_t)kPage;
    const long mapped = call(SYS_mmap, (long)start, (long)size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE | kNoReplace);
    if (mapped != (long)start)
        fail();
    const size_t packed_size = (size_t)(segment->packed_end - segment->packed);
    if (ZSTD_isError(ZSTD_decompressDCtx(decoder, (void*)segment->address, segment->memory,
                                         segment->packed, packed_size)))
        fail();
    if (call(SYS_mprotect, (long)start, (long)size, segment->protection, 0) != 0)
        fail();
}

// Loads the program, and writes the addresses of the program's own headers to the auxiliary vector
// on the stack. Returns the program's entry. Source: getauxval(3), the psABI of each processor.
uintptr_t gpuprobe_load(uintptr_t* stack) {
    static uint64_t memory[32768];
    set_up_stack_protector();
    ZSTD_DCtx* const decoder = ZSTD_initStaticDCtx(memory, sizeof memory);
    if (decoder == NULL)
        fail();
    for (size_t i = 0; i < sizeof kSegments / sizeof *kSegments; ++i)
        load(&kSegments[i], decoder);
    uintptr_t* at = stack + 1 + *stack + 1;  // the environment follows the arguments
    while (*at++)                            // the environment
        continue;
    for (; *at != AT_NULL; at += 2) {
        if (*at == AT_PHDR)
            at[1] = PACKED_HEADERS;
        if (*at == AT_PHNUM)
            at[1] = PACKED_HEADER_COUNT;
        if (*at == AT_ENTRY)
            at[1] = PACKED_ENTRY;
    }
    return PACKED_ENTRY;
}

__asm__(
    ".globl _start\n"
    "_start:\n"
#if defined __aarch64__
    "mov x19, sp\n"
    "mov x0, sp\n"
    "bl gpuprobe_load\n"
    "mov sp, x19\n"
    "mov x16, x0\n"
    "mov x0, #0\n"  // no function to call at exit
    "br x16\n"
#else
    "mov %rsp, %rbx\n"
    "mov %rsp, %rdi\n"
    "and $-16, %rsp\n"
    "call gpuprobe_load\n"
    "mov %rbx, %rsp\n"
    "xor %edx, %edx\n"  // no function to call at exit
    "jmp *%rax\n"
#endif
);
