// SPDX-License-Identifier: Apache-2.0
/// Creates a context on the first device of CUDA, OpenCL or Vulkan, or allocates memory on it,
/// using only the driver's library. tests/hardware/took.py runs it.
///
/// Usage: took init|context|memory|opencl|vulkan BYTES MILLISECONDS [ok|error|signal]
///
/// Prints "ready" after it has allocated the memory or created the context, or the call and its
/// code if a call fails (status 1). Waits for that time, and ends with status 0, with status 3, or
/// by SIGSEGV.
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
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

static void open_library(const char* name) {
    library = dlopen(name, RTLD_NOW);
    if (library)
        return;
    puts(dlerror());
    exit(1);
}

/// A context on the first GPU of the first platform that has a GPU.
static void take_opencl(void) {
    open_library("libOpenCL.so.1");
    void* platforms[16];
    unsigned count = 0;
    check("clGetPlatformIDs",
          ((int (*)(unsigned, void**, unsigned*))find("clGetPlatformIDs"))(16, platforms, &count));
    for (unsigned i = 0; i < count && i < 16; ++i) {
        const uint64_t gpu = 4;  // CL_DEVICE_TYPE_GPU
        void* device = NULL;
        if (((int (*)(void*, uint64_t, unsigned, void**, unsigned*))find("clGetDeviceIDs"))(
                platforms[i], gpu, 1, &device, NULL) != 0)
            continue;
        int code = 0;
        ((void* (*)(const void*, unsigned, void**, void*, void*, int*))find("clCreateContext"))(
            NULL, 1, &device, NULL, NULL, &code);
        check("clCreateContext", code);
        return;
    }
    check("clGetDeviceIDs", -1);
}

/// The first members of VkInstanceCreateInfo, VkDeviceQueueCreateInfo and VkDeviceCreateInfo, as in
/// vulkan_core.h.
struct InstanceInfo {
    int type;
    const void* next;
    unsigned flags;
    const void* application;
    unsigned layers;
    const char* const* layer_names;
    unsigned extensions;
    const char* const* extension_names;
};
struct QueueInfo {
    int type;
    const void* next;
    unsigned flags, family, count;
    const float* priorities;
};
struct DeviceInfo {
    int type;
    const void* next;
    unsigned flags, queue_count;
    const struct QueueInfo* queues;
    unsigned layers;
    const char* const* layer_names;
    unsigned extensions;
    const char* const* extension_names;
    const void* features;
};

/// A device with one queue of the first family.
static void take_vulkan(void) {
    open_library("libvulkan.so.1");
    const struct InstanceInfo instance_info = {.type = 1};
    void* instance = NULL;
    check("vkCreateInstance", ((int (*)(const void*, const void*, void**))find("vkCreateInstance"))(
                                  &instance_info, NULL, &instance));
    unsigned count = 1;
    void* gpu = NULL;
    const int incomplete = 5;  // VK_INCOMPLETE: there are more
    const int code = ((int (*)(void*, unsigned*, void**))find("vkEnumeratePhysicalDevices"))(
        instance, &count, &gpu);
    check("vkEnumeratePhysicalDevices", code == incomplete ? 0 : code);
    const float priority = 1;
    const struct QueueInfo queue = {.type = 2, .count = 1, .priorities = &priority};
    const struct DeviceInfo device_info = {.type = 3, .queue_count = 1, .queues = &queue};
    void* device = NULL;
    check("vkCreateDevice", ((int (*)(void*, const void*, const void*, void**))find(
                                "vkCreateDevice"))(gpu, &device_info, NULL, &device));
}

/// Ends the process in the way that `word` selects, without releasing the device.
static int end_as(const char* word) {
    if (strcmp(word, "signal") == 0)
        raise(SIGSEGV);
    return strcmp(word, "error") == 0 ? 3 : 0;
}

static void take_cuda(char** argv) {
    open_library("libcuda.so.1");
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
}

int main(int argc, char** argv) {
    if (argc != 4 && argc != 5)
        return 2;
    if (strcmp(argv[1], "opencl") == 0)
        take_opencl();
    else if (strcmp(argv[1], "vulkan") == 0)
        take_vulkan();
    else
        take_cuda(argv);
    puts("ready");
    fflush(stdout);
    usleep((useconds_t)atoi(argv[3]) * 1000);
    return end_as(argc == 5 ? argv[4] : "ok");
}
