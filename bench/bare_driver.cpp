// SPDX-License-Identifier: Apache-2.0
// Loads one driver, initializes it, counts its devices and exits. The time that this program needs
// is the reference for probing all APIs without a cache.
//
// Usage: bench_bare_driver cuda|nvml|vulkan|opencl [VARIABLE=VALUE…]
// The exit status is 1 if the library of the driver is missing.
//
// Sources: CUDA Driver API reference, cuInit and cuDeviceGetCount; NVML API reference, nvmlInit_v2;
// Vulkan 1.3 specification, vkCreateInstance and vkEnumeratePhysicalDevices; OpenCL 3.0 API
// specification, clGetPlatformIDs and clGetDeviceIDs.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

namespace {

template <class Function>
Function* symbol(void* library, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(library, name));
}

int cuda(void* library) {
    int count = 0;
    if (symbol<int(unsigned)>(library, "cuInit")(0) == 0)
        symbol<int(int*)>(library, "cuDeviceGetCount")(&count);
    return count;
}

int nvml(void* library) {
    unsigned count = 0;
    if (symbol<int()>(library, "nvmlInit_v2")() == 0)
        symbol<int(unsigned*)>(library, "nvmlDeviceGetCount_v2")(&count);
    symbol<int()>(library, "nvmlShutdown")();
    return static_cast<int>(count);
}

int vulkan(void* library) {
    const auto create =
        symbol<std::remove_pointer_t<PFN_vkCreateInstance>>(library, "vkCreateInstance");
    const auto enumerate = symbol<std::remove_pointer_t<PFN_vkEnumeratePhysicalDevices>>(
        library, "vkEnumeratePhysicalDevices");
    VkInstanceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    VkInstance instance = nullptr;
    std::uint32_t count = 0;
    if (create(&info, nullptr, &instance) == VK_SUCCESS)
        enumerate(instance, &count, nullptr);
    return static_cast<int>(count);
}

int opencl(void* library) {
    constexpr std::uint64_t kAllDevices = 0xFFFFFFFF;
    using Platforms = int(std::uint32_t, void**, std::uint32_t*);
    using Devices = int(void*, std::uint64_t, std::uint32_t, void**, std::uint32_t*);
    void* platforms[8] = {};
    std::uint32_t found = 0;
    symbol<Platforms>(library, "clGetPlatformIDs")(8, platforms, &found);
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < found && i < 8; ++i) {
        std::uint32_t devices = 0;
        symbol<Devices>(library, "clGetDeviceIDs")(platforms[i], kAllDevices, 0, nullptr, &devices);
        count += devices;
    }
    return static_cast<int>(count);
}

struct Driver {
    const char* name;
    const char* library;
    int (*count)(void*);
};
constexpr Driver kDrivers[] = {{"cuda", "libcuda.so.1", cuda},
                               {"nvml", "libnvidia-ml.so.1", nvml},
                               {"vulkan", "libvulkan.so.1", vulkan},
                               {"opencl", "libOpenCL.so.1", opencl}};

}  // namespace

int main(int argc, char** argv) {
    for (int i = 2; i < argc; ++i)
        ::putenv(argv[i]);
    for (const auto& driver : kDrivers) {
        if (argc < 2 || std::strcmp(driver.name, argv[1]) != 0)
            continue;
        void* library = ::dlopen(driver.library, RTLD_NOW);
        if (library == nullptr)
            return 1;
        std::printf("%d\n", driver.count(library));
        std::fflush(stdout);  // prints the count before the driver's exit handlers run
        return 0;
    }
    return 2;
}
