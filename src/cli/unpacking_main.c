// SPDX-License-Identifier: Apache-2.0
// The start of a packed program (tools/packaging/pack): it unpacks the segments of a static program
// to the addresses that they were linked for, and jumps to the program's entry. It is linked
// without a C library. The rest of the file is in packed_segments.h, which the tool writes.
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// A segment of the program. It was compressed as blocks of LZ4; the size of each is in front of it.
struct segment {
    uintptr_t address;
    size_t memory;  // bytes at that address; those beyond the unpacked ones are 0
    const unsigned char* packed;
    const unsigned char* packed_end;
    int protection;
};
#include "packed_segments.h"

enum { kPage = PACKED_PAGE, kCannotRun = 126, kNoReplace = 0x100000 };
static const uint32_t kPlain = 1U << 31;  // in a block's size: it is not compressed

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

static void fail(void) {
    static const char kText[] =
        "gpuprobe: this machine forbids programs that unpack themselves in memory\n";
    call(SYS_write, 2, (long)kText, sizeof kText - 1, 0);
    call(SYS_exit_group, kCannotRun, 0, 0, 0);
}

// Adds the further bytes of a length. Source: lz4, doc/lz4_Block_format.md.
static size_t whole_length(size_t length, const unsigned char** at) {
    if (length == 15)
        do
            length += **at;
        while (*(*at)++ == 255);
    return length;
}

// Copies forwards, also where a match overlaps its own copy. The empty assembly keeps the compiler
// from calling memcpy(), which is not here.
static unsigned char* copy(unsigned char* to, const unsigned char* from, size_t size) {
    if (from > to || to - from >= 8)
        for (; size >= 8; size -= 8, to += 8, from += 8) {
            __builtin_memcpy(to, from, 8);
            __asm__ volatile("" ::: "memory");
        }
    for (; size > 0; --size) {
        *to++ = *from++;
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

// Returns the end of what was unpacked.
static unsigned char* unpack(const unsigned char* from,
                             const unsigned char* end,
                             unsigned char* to) {
    while (from < end) {
        const unsigned token = *from++;
        const size_t literals = whole_length(token >> 4, &from);
        to = copy(to, from, literals);
        from += literals;
        if (from >= end)
            break;  // the last sequence has only literals
        const size_t distance = from[0] + 256U * from[1];
        from += 2;
        to = copy(to, to - distance, whole_length(token & 15, &from) + 4);
    }
    return to;
}

static void load(const struct segment* segment) {
    const uintptr_t start = segment->address & -(uintptr_t)kPage;
    const size_t size = (segment->address + segment->memory - start + kPage - 1) & -(size_t)kPage;
    const long mapped = call(SYS_mmap, (long)start, (long)size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE | kNoReplace);
    if (mapped != (long)start)
        fail();
    unsigned char* to = (unsigned char*)segment->address;
    for (const unsigned char* at = segment->packed; at < segment->packed_end;) {
        uint32_t head;
        __builtin_memcpy(&head, at, sizeof head);
        const size_t size_of_block = head & ~kPlain;
        at += sizeof head;
        to = head & kPlain ? copy(to, at, size_of_block) : unpack(at, at + size_of_block, to);
        at += size_of_block;
    }
    if (call(SYS_mprotect, (long)start, (long)size, segment->protection, 0) != 0)
        fail();
}

// Loads the program, and tells it through the auxiliary vector on the stack where its own headers
// are. Returns its entry. Source: getauxval(3), the psABI of each processor.
uintptr_t gpuprobe_load(uintptr_t* stack) {
    for (size_t i = 0; i < sizeof kSegments / sizeof *kSegments; ++i)
        load(&kSegments[i]);
    uintptr_t* at = stack + 1 + *stack + 1;  // behind the arguments
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
