// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "backends/vulkan/api.h"
#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// Visits the devices of one Vulkan driver. Does not create a VkDevice; a VkDevice with one queue
/// is created only when a device is opened.
///
/// The environment must restrict the loader to the target's driver (VK_DRIVER_FILES,
/// VK_ICD_FILENAMES) and disable implicit layers. If the target has no driver, only the loader is
/// checked. The answer is Absent if there is no loader or no manifest, or if the driver offers no
/// device (reported by VK_ERROR_INCOMPATIBLE_DRIVER, VK_ERROR_INITIALIZATION_FAILED or an empty
/// list).
Answer visit_vulkan(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Like visit_vulkan(), but the EGL fallback looks for NVIDIA's kernel driver and the manifest in
/// `files`. The loader itself always reads its files from the running system.
Answer visit_vulkan_on(const FileSystem& files,
                       const ProbeTarget& target,
                       Sink& sink,
                       const VisitDevice& visit);

constexpr std::uint32_t kMaxVulkanDevices = 64;

// A fallback for NVIDIA's Vulkan driver, which has two entry libraries. The installed manifest
// names libGLX_nvidia.so.0, which lists no device on a machine without X libraries;
// libEGL_nvidia.so.0 loads the same driver and works on such a machine. Source:
// NVIDIA/nvidia-container-toolkit issues 16, 191 and 1952; seen on an H200 with driver 580.

/// The manifest with the GLX library replaced by the EGL library; nullopt if the manifest names
/// another library.
std::optional<std::string> with_egl_library(std::string_view manifest);

/// A manifest file that is deleted at the end of the scope.
class TemporaryManifest {
public:
    /// Writes the file below $TMPDIR or /tmp. Errors: Io.
    static Result<TemporaryManifest> create(std::string_view content);
    TemporaryManifest(TemporaryManifest&& other) noexcept
        : path_{std::exchange(other.path_, std::string{})} {}
    TemporaryManifest& operator=(TemporaryManifest&&) = delete;
    ~TemporaryManifest();
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    explicit TemporaryManifest(std::string path) : path_{std::move(path)} {}
    std::string path_;
};

/// A physical device and the functions to query it. `vulkan` must outlive all objects that are
/// created from this PhysicalDevice.
struct PhysicalDevice {
    const InstanceSymbols& vulkan;
    VkPhysicalDevice device = VK_NULL_HANDLE;
};

/// Opens a device for computing: a logical device with one queue, without a surface. Refusals:
/// `no-compute-queue`, `out-of-memory`, `device-lost` or `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_vulkan(const PhysicalDevice& device,
                                                    const DeviceFacts& facts);

/// A core feature of Vulkan 1.0, with its name in the specification.
struct CoreFeature {
    std::string_view name = {};
    VkBool32 VkPhysicalDeviceFeatures::*member = nullptr;
};

/// The Vulkan 1.0 features that a WebGPU implementation checks.
std::span<const CoreFeature> webgpu_features();

enum class WebGpuLevel { None, Compatibility, Core };
std::string_view word_of(WebGpuLevel level);

struct WebGpuSupport {
    WebGpuLevel level = WebGpuLevel::None;
    std::vector<std::string> missing = {};  ///< the features and limits that are missing for Core
};

/// The WebGPU level that can be implemented on this device, according to Dawn's requirements for
/// Core and Compatibility mode. The size of the largest buffer is checked only if it is known.
/// Source: dawn 1e975e28f98a, src/dawn/native/vulkan/PhysicalDeviceVk.cpp (InitializeImpl and
/// InitializeSupportedLimitsInternal) and src/dawn/native/Limits.cpp (columns compat and tier0).
WebGpuSupport webgpu_support(const DeviceReply& reply);

/// One entry of VkPhysicalDeviceMemoryProperties::memoryHeaps, with its data from
/// VK_EXT_memory_budget.
struct MemoryHeap {
    Bytes size = {};
    bool is_device_local = false;
    bool is_host_visible = false;      ///< whether a memory type in the heap can be mapped
    std::optional<Bytes> budget = {};  ///< the total that this process may use now
    std::optional<Bytes> usage = {};   ///< the amount that this process uses
};

/// How to compute a device's memory from the heaps that its driver reports.
enum class HeapRule {
    SumLocal,      ///< the device-local heaps are disjoint (RADV and ANV with a small BAR)
    LargestLocal,  ///< the other device-local heaps are windows into the largest (NVIDIA)
    SumAll,        ///< the heaps are parts of one memory, split by the driver (integrated GPUs)
};

/// The rule for a device type and a driver. Sources: Mesa, radv_physical_device.c and anv_device.c;
/// NVIDIA's window heap of 214–256 MiB without resizable BAR; NVK's system heap, which is
/// device-local only if there is no other heap.
HeapRule heap_rule(std::optional<DeviceType> type, std::optional<std::uint32_t> driver_id);

/// The total and free memory according to `rule`. Free memory is budget minus usage, but at least
/// zero, because drivers let the usage exceed the budget. Total and free memory are unknown if a
/// heap exceeds kMaxPlausibleMemory or no heap matches; `free` is unknown if a heap has no budget.
FactMemory device_memory(std::span<const MemoryHeap> heaps, HeapRule rule);

/// The largest size that is accepted, 1 PiB: a larger size is a driver bug.
constexpr Bytes kMaxPlausibleMemory = gib(1U << 20);

/// The facts in a device's reply. This is a pure function. docs/internals/facts.md lists every key.
///
/// A fact is null if it could not be queried or has an impossible value: an all-zero PCI address or
/// UUID, a bus or device number out of range, a vendor id that PCI does not assign. A feature that
/// the device is known to lack is false.
DeviceFacts facts_of(const DeviceReply& reply);

/// The memory heaps of a device, at most VK_MAX_MEMORY_HEAPS.
std::vector<MemoryHeap> heaps_of(const DeviceReply& reply);

/// Whether the device is a software renderer on the CPU. Sources: VkPhysicalDeviceType, VkDriverId
/// 10 and 13; with Venus and Dozen, only the device name shows whether a software renderer is used.
bool is_software(const DeviceReply& reply);

}  // namespace gpuprobe::backends
