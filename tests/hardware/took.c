// SPDX-License-Identifier: Apache-2.0
/// Takes memory of the first CUDA device through the driver's library alone, as
/// tests/hardware/took.py orders it.
///
/// Usage: took init|context|memory BYTES MILLISECONDS
///
/// Prints "ready" once it has what it was to take, and the call and its code where one fails
/// (status 1).
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* library;

static void* find(const char* name) {
    void* function = dlsym(library, name);
    if (!function) {
        printf("%s is missing\n", name);
        exit(1);
    }
    return function;
}

static void check(const char* call, int code) {
    if (code == 0)
        return;
    printf("%s: %d\n", call, code);
    exit(1);
}

int main(int argc, char** argv) {
    if (argc != 4)
        return 2;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    check("cuInit", ((int (*)(unsigned))find("cuInit"))(0));
    if (strcmp(argv[1], "init") != 0) {
        int device = 0;
        void* context = NULL;
        check("cuDeviceGet", ((int (*)(int*, int))find("cuDeviceGet"))(&device, 0));
        check("cuCtxCreate",
              ((int (*)(void**, unsigned, int))find("cuCtxCreate_v2"))(&context, 0, device));
    }
    if (strcmp(argv[1], "memory") == 0) {
        unsigned long long memory = 0;
        check("cuMemAlloc", ((int (*)(unsigned long long*, size_t))find("cuMemAlloc_v2"))(
                                &memory, strtoull(argv[2], NULL, 10)));
        check("cuMemsetD8", ((int (*)(unsigned long long, unsigned char, size_t))find(
                                "cuMemsetD8_v2"))(memory, 1, strtoull(argv[2], NULL, 10)));
    }
    puts("ready");
    fflush(stdout);
    usleep((useconds_t)atoi(argv[3]) * 1000);
    return 0;
}
