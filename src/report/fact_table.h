// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/word_list.h"
#include "report/facts.h"

/// Every fact that an API or the kernel reports, declared once with key, type, meaning and
/// visibility. The code that hides facts from callers, detects changes and validates a worker's
/// answer uses this table, and docs/internals/facts.md is generated from this table.
namespace gpuprobe::inline report {

/// Maximum length in bytes of fact keys and reason codes.
constexpr std::size_t kMaxFactKey = 128;

/// Subject of a fact, which also determines where the fact is stored.
enum class FactOf {
    EveryDevice,  ///< the named members of DeviceFacts
    Device,       ///< DeviceFacts::extra, which reports merge into ApiView::device
    View,         ///< a fact that the report adds to ApiView::device; no API may send such a fact
    WholeGpu,     ///< a member of Gpu, derived from all information about the GPU
    Runtime,      ///< ProbeResult::runtime: about the API as a whole
    Hardware,     ///< HardwareDevice::extra: reported by the kernel
};

enum class FactType { Text, Version, Flag, Number, Real, Bytes, Hertz, Texts, List, Object };
constexpr std::array<EnumName<FactType>, 10> names_of(FactType) {
    return {{{FactType::Text, "text"},
             {FactType::Version, "version"},
             {FactType::Flag, "flag"},
             {FactType::Number, "number"},
             {FactType::Real, "real"},
             {FactType::Bytes, "bytes"},
             {FactType::Hertz, "hertz"},
             {FactType::Texts, "texts"},
             {FactType::List, "list"},
             {FactType::Object, "object"}}};
}

/// How specific a fact is to one device or one moment. Each row must set this value.
enum class FactSpecificity {
    Unset,     ///< not set; a table with such a row does not compile
    Model,     ///< the fact is the same for all devices of one model under one driver
    Own,       ///< location or setup of the device, which does not identify the device elsewhere
    Identity,  ///< identifies the device; hidden from callers who may not open the device
    Moment,    ///< a fact that changes by itself; a change starts no new report generation
};

struct FactInfo {
    std::string_view key = {};
    FactOf of = FactOf::Device;
    /// The APIs that report the fact, separated by spaces; empty if every API or the kernel reports
    /// the fact.
    std::string_view apis = {};
    FactType type = FactType::Text;
    FactSpecificity specificity = FactSpecificity::Unset;
    std::string_view meaning = {};  ///< description for docs/internals/facts.md
    /// Origin of the fact, if the API's own section does not name it.
    std::string_view source = {};
    /// Unit of a number, unless the meaning or the type already implies the unit.
    std::string_view unit = {};
    /// Members of the value, at any depth, that change by themselves (as FactSpecificity::Moment),
    /// separated by spaces.
    std::string_view momentary_members = {};
    /// The name that the report's schema gives to the record of a list's items; empty if the items
    /// may be anything.
    std::string_view record = {};
};

namespace known_facts {
using enum FactOf;
using enum FactType;
using enum FactSpecificity;

/// The rows in the order of docs/internals/facts.md: by API, then by topic. A key has one row, or
/// one row for each group of APIs if several groups give the key different meanings.
inline constexpr auto kRows = std::to_array<FactInfo>({
    // ---- every API, about a device
    {"index", EveryDevice, "", Number, Own,
     "position in the list of devices that the API reported in this probe (for Vulkan and OpenCL: "
     "in the list of one driver)"},
    {"name", EveryDevice, "", Text, Model, "marketing name as the API reports it"},
    {"vendor_id", EveryDevice, "", Text, Model,
     "PCI id of the vendor, four lower-case hexadecimal digits"},
    {"device_id", EveryDevice, "", Text, Model,
     "PCI id of the device, four lower-case hexadecimal digits"},
    {"pci", EveryDevice, "", Text, Own,
     "PCI address, such as `0000:01:00.0`; an all-zero address is treated as unknown"},
    {"uuid", EveryDevice, "", Text, Identity,
     "UUID as the API reports it; an all-zero UUID is treated as unknown"},
    {"drm", EveryDevice, "", Object, Own,
     R"(device numbers of the DRM nodes: `{"primary": "226:0", "render": "226:128"}`)"},
    {"type", EveryDevice, "", Text, Model,
     "type of the device: `discrete`, `integrated`, `virtual`, `cpu` or `other`"},
    {"memory", EveryDevice, "", Object, Model,
     R"(`{"total", "free"}`, the device's memory in bytes; the section of each API says what is counted)",
     "", "", "free"},
    // ---- added by the report
    {"alternatives", View, "", List, Own,
     R"(`[{"driver", "device"}]`: the facts that other drivers of this API report about the same GPU)"},
    // ---- derived by the report, about a GPU
    {"title", WholeGpu, "", Text, Model,
     "short name for screens and menus, with the vendor's name first; null if only ids are known",
     "`name`, without trademark signs and the company's full name. If `name` is from pci.ids, "
     "such as `Navi 31 [Radeon RX 7900 XT]`, the title contains only the part in brackets"},
    // ---- pci
    {"vendor_name", Device, "pci", Text, Model, "name of the vendor", "`pci.ids`, or udev's hwdb"},
    {"subsystem_name", Device, "pci", Text, Model, "name of the board",
     "`pci.ids`, or udev's hwdb"},
    {"subsystem_vendor_id", Device, "pci", Text, Model,
     "PCI id of the board's vendor, four hexadecimal digits", "sysfs `subsystem_vendor`"},
    {"subsystem_device_id", Device, "pci", Text, Model,
     "PCI id of the board, four hexadecimal digits", "sysfs `subsystem_device`"},
    {"class", Device, "pci", Text, Model, "PCI base class and subclass, four hexadecimal digits",
     "sysfs `class`"},
    {"programming_interface", Device, "pci", Text, Model,
     "PCI programming interface, two hexadecimal digits", "sysfs `class`"},
    {"revision", Device, "pci", Text, Model, "PCI revision, two hexadecimal digits",
     "sysfs `revision`"},
    {"numa_node", Device, "pci", Number, Own,
     "NUMA node of the device; null if the kernel reports -1", "sysfs `numa_node`"},
    {"bars", Device, "pci", List, Model,
     R"(the existing BARs: `[{"index", "size", "io", "prefetchable"}]`)", "sysfs `resource`"},
    // ---- vulkan
    {"api_version", Device, "vulkan", Version, Model,
     "Vulkan version that the device supports: `1.3.277`"},
    {"driver_version", Device, "vulkan", Version, Model,
     "driver version, decoded from the vendor's own format: `580.159.04`, `22.3.6`"},
    {"driver_id", Device, "vulkan", Text, Model,
     "VkDriverId as a name (`nvidia-proprietary`, `mesa-radv` …); an id that gpuprobe does not "
     "know is reported as a number in text form"},
    {"driver_name", Device, "vulkan", Text, Model,
     "name of the driver: driverName in VkPhysicalDeviceDriverProperties"},
    {"driver_info", Device, "vulkan", Text, Model,
     "description of the driver: driverInfo in VkPhysicalDeviceDriverProperties"},
    {"conformance_version", Device, "vulkan", Version, Model,
     "version of the conformance tests that the driver passed: conformanceVersion in "
     "VkPhysicalDeviceDriverProperties; `0.0.0.0` means that the driver claims no conformance"},
    {"driver_uuid", Device, "vulkan opencl", Text, Identity,
     "UUID of the driver, from VkPhysicalDeviceIDProperties or cl_khr_device_uuid; NVIDIA's OpenCL "
     "driver reports the device's UUID instead"},
    {"luid", Device, "vulkan opencl", Text, Identity,
     "locally unique id, 16 hexadecimal digits; null if the driver does not mark the id as valid"},
    {"vulkan_vendor_id", Device, "vulkan", Number, Model,
     "vendorID as Vulkan reports it. A value of 65536 or more is a Khronos vendor id and not a PCI "
     "id"},
    {"software", Device, "vulkan", Flag, Model,
     "the device is a software renderer on the CPU, according to its type, driver or name "
     "(llvmpipe, SwiftShader or Microsoft Basic Render)"},
    {"icd", Device, "vulkan", Text, Model,
     "`egl-fallback` if NVIDIA's Vulkan driver worked only through libEGL_nvidia.so.0; otherwise "
     "null"},
    {"heaps", Device, "vulkan", List, Model,
     R"(all memory heaps: `[{"size", "device_local", "host_visible", "budget", "usage"}]`)", "", "",
     "budget usage"},
    {"max_compute_shared_memory_size", Device, "vulkan", Bytes, Model,
     "maximum shared memory of a work-group"},
    {"max_compute_workgroup_invocations", Device, "vulkan", Number, Model,
     "maximum number of invocations in a work-group"},
    {"max_storage_buffer_range", Device, "vulkan", Bytes, Model,
     "maximum range of one storage buffer descriptor"},
    {"max_memory_allocation_size", Device, "vulkan opencl level_zero", Bytes, Model,
     "the largest single allocation"},
    {"max_buffer_size", Device, "vulkan", Bytes, Model, "the largest buffer"},
    {"timestamp_period", Device, "vulkan", Real, Model, "duration of one timestamp tick", "",
     "nanoseconds"},
    {"async_compute_queue", Device, "vulkan", Flag, Model,
     "a queue family supports compute but not graphics"},
    {"queues", Device, "vulkan", List, Model,
     R"(the queue families: `[{"flags": ["compute", …], "count", "timestamp_bits"}]`)"},
    {"subgroup_size", Device, "vulkan", Number, Model, "number of invocations in a subgroup"},
    {"subgroup_size_min", Device, "vulkan", Number, Model,
     "smallest subgroup size that a pipeline can request"},
    {"subgroup_size_max", Device, "vulkan", Number, Model,
     "largest subgroup size that a pipeline can request"},
    {"subgroup_operations", Device, "vulkan", Texts, Model,
     "supported operations: `basic`, `vote`, `arithmetic`, `ballot`, `shuffle`, "
     "`shuffle-relative`, `clustered`, `quad`"},
    {"shader_float16", Device, "vulkan", Flag, Model,
     "16-bit floating-point arithmetic in shaders"},
    {"shader_int8", Device, "vulkan", Flag, Model, "8-bit integer arithmetic in shaders"},
    {"shader_bfloat16", Device, "vulkan", Flag, Model, "bfloat16 arithmetic in shaders"},
    {"storage_buffer_16bit", Device, "vulkan", Flag, Model, "16-bit members in storage buffers"},
    {"storage_buffer_8bit", Device, "vulkan", Flag, Model, "8-bit members in storage buffers"},
    {"integer_dot_product", Device, "vulkan", Flag, Model,
     "integer dot products are supported, possibly in software"},
    {"integer_dot_product_accelerated", Device, "vulkan", Flag, Model,
     "4x8-bit packed signed dot products are hardware-accelerated"},
    {"cooperative_matrix", Device, "vulkan", Flag, Model, "VK_KHR_cooperative_matrix is supported"},
    {"cooperative_matrix_shapes", Device, "vulkan", List, Model,
     R"(supported matrix shapes, at most 256: `[{"m", "n", "k", "a", "b", "c", "result", "saturating", "scope"}]`)"},
    {"features", Device, "vulkan", Object, Model,
     "Vulkan features that manifests can require, by their names in the specification"},
    {"webgpu", Device, "vulkan", Text, Model,
     "level of WebGPU that the device supports according to Dawn's rules: `core`, `compat` or "
     "`no`"},
    {"webgpu_missing", Device, "vulkan", Texts, Model,
     "the features and limits that WebGPU's level `core` needs and the device lacks"},
    {"extensions", Device, "vulkan opencl", Texts, Model,
     "extensions of the device, sorted, at most 1024"},
    // ---- opencl
    {"platform_name", Device, "opencl", Text, Model, "name of the platform that lists the device"},
    {"platform_vendor", Device, "opencl", Text, Model,
     "vendor of the platform that lists the device, CL_PLATFORM_VENDOR"},
    {"platform_version", Device, "opencl", Text, Model,
     "version of the platform that lists the device, CL_PLATFORM_VERSION"},
    {"pci_source", Device, "opencl", Text, Model,
     "the extension that reports `pci`: `cl_khr_pci_bus_info`, `cl_nv_device_attribute_query`, or "
     "`cl_amd_device_attribute_query`, which does not report a domain"},
    {"host_unified_memory", Device, "opencl", Flag, Model,
     "the device shares memory with the host: CL_DEVICE_INTEGRATED_MEMORY_NV, or "
     "CL_DEVICE_HOST_UNIFIED_MEMORY"},
    {"version", Device, "opencl", Text, Model, "OpenCL version as text, CL_DEVICE_VERSION"},
    {"api_version", Device, "opencl", Version, Model,
     "version number in CL_DEVICE_VERSION, such as `3.0`"},
    {"numeric_version", Device, "opencl", Version, Model,
     "OpenCL version as a number, CL_DEVICE_NUMERIC_VERSION"},
    {"driver_version", Device, "opencl", Version, Model, "driver version, CL_DRIVER_VERSION"},
    {"c_version", Device, "opencl", Text, Model, "version of OpenCL C, CL_DEVICE_OPENCL_C_VERSION"},
    {"profile", Device, "opencl", Text, Model, "OpenCL profile, CL_DEVICE_PROFILE"},
    {"c_versions", Device, "opencl", Texts, Model,
     R"(all supported versions of OpenCL C, CL_DEVICE_OPENCL_C_ALL_VERSIONS: `["1.2.0", "3.0.0"]`)"},
    {"il_versions", Device, "opencl", Texts, Model,
     R"(supported intermediate languages, such as `["SPIR-V_1.2"]`; empty if the driver cannot compile any)"},
    {"local_memory_size", Device, "opencl", Bytes, Model, "local memory of a work-group"},
    {"max_work_group_size", Device, "opencl", Number, Model,
     "maximum number of work-items in a work-group"},
    {"compute_units", Device, "opencl", Number, Model,
     "number of compute units, CL_DEVICE_MAX_COMPUTE_UNITS"},
    {"clock_hz", Device, "opencl", Hertz, Model,
     "peak clock frequency, CL_DEVICE_MAX_CLOCK_FREQUENCY"},
    {"available", Device, "opencl", Flag, Own, "the device is available, CL_DEVICE_AVAILABLE"},
    {"compiler_available", Device, "opencl", Flag, Model,
     "the driver can compile source code, CL_DEVICE_COMPILER_AVAILABLE"},
    {"svm_capabilities", Device, "opencl", Texts, Model,
     "supported kinds of shared virtual memory: `coarse-grain-buffer`, `fine-grain-buffer`, "
     "`fine-grain-system`, `atomics`"},
    {"device_name", Device, "opencl", Text, Model,
     "name of the device, CL_DEVICE_NAME; the fact `name` can be the name of the board instead"},
    {"vendor_name", Device, "opencl", Text, Model, "name of the vendor, CL_DEVICE_VENDOR"},
    {"opencl_vendor_id", Device, "opencl", Number, Model,
     "id of the vendor, CL_DEVICE_VENDOR_ID without changes"},
    {"gfx_target", Device, "opencl", Text, Model,
     "gfx target from the device name of AMD's driver: `gfx90a`"},
    {"compute_capability", Device, "opencl", Version, Model,
     "compute capability from cl_nv_device_attribute_query: `8.9`"},
    {"intel_ip", Device, "opencl", Version, Model,
     "Intel IP version from cl_intel_device_attribute_query: `12.55.8`"},
    {"fp16", Device, "opencl", Flag, Model, "the device lists the extension cl_khr_fp16"},
    {"fp64", Device, "opencl", Flag, Model, "the device lists the extension cl_khr_fp64"},
    {"integer_dot_product", Device, "opencl", Flag, Model,
     "the device lists the extension cl_khr_integer_dot_product"},
    // ---- cuda
    {"compute_capability", Device, "cuda nvml", Version, Model,
     "compute capability, such as `9.0`"},
    {"multiprocessors", Device, "cuda", Number, Model, "number of streaming multiprocessors"},
    {"max_threads_per_block", Device, "cuda", Number, Model,
     "maximum number of threads in a block"},
    {"warp_size", Device, "cuda", Number, Model, "number of threads in a warp"},
    {"max_registers_per_block", Device, "cuda", Number, Model,
     "maximum number of 32-bit registers that a block can use"},
    {"max_shared_memory_per_block", Device, "cuda", Bytes, Model,
     "maximum shared memory of a block if the kernel opts in to more than the default maximum"},
    {"l2_cache", Device, "cuda", Bytes, Model, "size of the L2 cache"},
    {"clock_hz", Device, "cuda hip level_zero", Hertz, Model, "peak clock frequency"},
    {"memory_clock_hz", Device, "cuda hip", Hertz, Model, "peak clock frequency of the memory"},
    {"memory_bus_bits", Device, "cuda hip", Number, Model, "width of the memory bus", "", "bits"},
    {"compute_mode", Device, "cuda nvml", Number, Own,
     "compute mode: 0 default, 2 prohibited, 3 exclusive process"},
    {"ecc", Device, "cuda", Number, Own, "1 if error correction is on"},
    {"managed_memory", Device, "cuda", Number, Model,
     "1 if the device supports managed memory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY"},
    {"concurrent_managed_access", Device, "cuda", Number, Model,
     "1 if the CPU and the device can access managed memory at the same time, "
     "CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS"},
    {"virtual_memory_management", Device, "cuda", Number, Model,
     "1 if the device supports virtual memory management, "
     "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"},
    {"memory_pools", Device, "cuda", Number, Model,
     "1 if the device supports memory pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED"},
    // ---- nvml
    {"subsystem_vendor_id", Device, "nvml", Text, Model,
     "PCI id of the board's vendor, four hexadecimal digits"},
    {"subsystem_device_id", Device, "nvml", Text, Model,
     "PCI id of the board, four hexadecimal digits"},
    {"memory_reserved", Device, "nvml", Bytes, Model, "memory that the driver reserves for itself"},
    {"virtualization_mode", Device, "nvml", Number, Own,
     "virtualization mode as a number, as NVML defines it"},
    {"minor_number", Device, "nvml", Number, Own, "the number N in /dev/nvidiaN"},
    {"gpu_utilization", Device, "nvml", Number, Moment,
     "share of the last sampling period in which a kernel ran; null for a GPU that is divided into "
     "MIG instances",
     "", "per cent"},
    {"persistence_mode", Device, "nvml", Number, Own,
     "1 if the driver keeps the GPU initialized while no program uses the GPU"},
    {"power_limit", Device, "nvml", Number, Own, "power limit", "", "watts"},
    {"default_power_limit", Device, "nvml", Number, Model, "the vendor's default power limit", "",
     "watts"},
    {"slowdowns", Device, "nvml", Texts, Moment,
     "reasons for reduced clocks: `power-cap`, `slowdown`, `sync-boost`, `thermal`, `hw-thermal`, "
     "`power-brake`; from NVML's clocks event reasons"},
    {"ecc_uncorrected", Device, "nvml", Number, Own,
     "number of uncorrectable ECC memory errors since the driver started"},
    {"remap_pending", Device, "nvml", Flag, Own,
     "the GPU must be reset before a faulty row or page of its memory can be replaced"},
    {"remap_failed", Device, "nvml", Flag, Own, "a faulty row of the memory could not be replaced"},
    {"licensed", Device, "nvml", Flag, Own,
     "whether a virtual GPU has a software license; null for other GPUs"},
    {"mig_mode", Device, "nvml", Flag, Own, "MIG mode is enabled"},
    {"mig_devices", Device, "nvml", List, Identity,
     R"(the visible MIG instances: `[{"index", "name", "uuid", "gpu_instance", "compute_instance", "gpu_slices", "compute_slices", "multiprocessors", "decoders", "encoders", "memory_size", "memory"}]`)",
     "", "", "free"},
    {"processes", Device, "nvml", List, Moment,
     R"(`[{"pid", "memory_used", "computes", "gpu_instance"}]`: the processes that have a context )"
     "on the GPU, with their ids in the worker's PID namespace. Only the probe stage `processes` "
     "reports this fact, so the fact is never in a report"},
    // ---- hip
    {"gfx_target", Device, "hip", Text, Model,
     "gfx target, such as `gfx90a`; null if `route` is `hip`"},
    {"compute_units", Device, "hip", Number, Model, "number of compute units"},
    {"wavefront_size", Device, "hip", Number, Model, "number of work-items in a wavefront"},
    {"kfd_node", Device, "hip", Number, Own, "number of the device's node in the KFD topology"},
    // ---- level_zero
    {"device_type", Device, "level_zero level_zero_sysman", Text, Model,
     "type of the device: `gpu`, `npu`, `cpu`, `fpga` or `mca`; a type that gpuprobe does not know "
     "is reported as a number in text form"},
    {"api_version", Device, "level_zero", Version, Model,
     "API version that the driver supports: `1.6`"},
    {"driver_version", Device, "level_zero", Version, Model,
     "driver version, decoded from the format of Intel's driver: `1.6.33578`"},
    {"intel_ip", Device, "level_zero", Version, Model,
     "Intel IP version, such as `20.4.4`; null if the driver does not list "
     "ZE_extension_device_ip_version"},
    {"spirv_version", Device, "level_zero", Version, Model,
     "newest SPIR-V version that the driver accepts: `1.2`"},
    {"fp16", Device, "level_zero", Flag, Model, "half-precision arithmetic in kernels"},
    {"fp64", Device, "level_zero", Flag, Model, "double-precision arithmetic in kernels"},
    {"int64_atomics", Device, "level_zero", Flag, Model, "64-bit integer atomics in kernels"},
    {"integer_dot_product", Device, "level_zero", Flag, Model,
     "four-component dot products (DP4A)"},
    {"execution_units", Device, "level_zero", Number, Model, "number of execution units"},
    {"threads_per_execution_unit", Device, "level_zero", Number, Model,
     "number of hardware threads of an execution unit"},
    {"simd_width", Device, "level_zero", Number, Model,
     "number of SIMD lanes of an execution unit"},
    {"ecc", Device, "level_zero", Flag, Own, "the memory has error correction"},
    // ---- level_zero_sysman
    {"memory_physical", Device, "level_zero_sysman", Bytes, Model,
     "memory on the board, including memory that the firmware reserves"},
    {"memory_health", Device, "level_zero_sysman", Text, Own,
     "health of the worst memory module: `unknown`, `ok`, `degraded`, `critical`, `replace`"},
    {"driver_version", Device, "level_zero_sysman", Version, Model,
     "driver version as the driver reports it"},
    {"tiles", Device, "level_zero_sysman", Number, Model,
     "number of tiles (sub-devices); 0 for a GPU without tiles"},
    // ---- drm
    {"node", Device, "drm", Text, Own, "path of the render node", "all"},
    {"driver_name", Device, "drm", Text, Model, "name of the kernel driver, from DRM_IOCTL_VERSION",
     "all"},
    {"driver_version", Device, "drm", Version, Model,
     "version of the driver's interface from DRM_IOCTL_VERSION, not the version of the driver "
     "release",
     "all"},
    {"driver_description", Device, "drm", Text, Model,
     "description of the kernel driver, from DRM_IOCTL_VERSION", "all"},
    {"compute_units", Device, "drm", Number, Model,
     "number of compute units, from AMDGPU_INFO_DEV_INFO", "amdgpu"},
    {"clock_hz", Device, "drm", Hertz, Model, "peak clock frequency, from AMDGPU_INFO_DEV_INFO",
     "amdgpu"},
    {"memory_clock_hz", Device, "drm", Hertz, Model,
     "peak clock frequency of the memory, from AMDGPU_INFO_DEV_INFO", "amdgpu"},
    {"memory_bus_bits", Device, "drm", Number, Model,
     "width of the memory bus, from AMDGPU_INFO_DEV_INFO", "amdgpu", "bits"},
    {"memory_type", Device, "drm", Text, Model, "type of the memory: `gddr6`, `hbm`, `ddr5` …",
     "amdgpu"},
    {"memory_usable", Device, "drm", Bytes, Moment,
     "VRAM that programs can allocate, excluding pinned buffers such as framebuffers", "amdgpu"},
    {"memory_visible", Device, "drm", Bytes, Model, "VRAM that the processor can access", "amdgpu"},
    {"gtt_total", Device, "drm", Bytes, Model, "system memory that the GPU may use",
     "amdgpu, radeon"},
    {"gtt_used", Device, "drm", Bytes, Moment, "the part of `gtt_total` that is in use", "amdgpu"},
    {"mes_firmware", Device, "drm", Text, Model,
     "version of the MES firmware, which schedules compute queues, from AMDGPU_INFO_FW_MES: `0x83`",
     "amdgpu"},
    {"regions", Device, "drm", List, Model,
     R"(memory regions: `[{"on_device", "instance", "size", "free"}]`)", "i915, xe", "", "free"},
    {"intel_ip", Device, "drm", Version, Model,
     "Intel IP version of the first graphics GT: `20.4.4`", "xe"},
    {"chipset", Device, "drm", Text, Model, "chipset number in hexadecimal: `164`", "nouveau"},
    {"accelerated", Device, "drm", Flag, Model,
     "3D acceleration is available, from VIRTGPU_PARAM_3D_FEATURES", "virtio_gpu"},
    {"host_visible", Device, "drm", Flag, Model,
     "host-visible memory is available, from VIRTGPU_PARAM_HOST_VISIBLE", "virtio_gpu"},
    {"context_init", Device, "drm", Flag, Model,
     "a context can select its capability set, from VIRTGPU_PARAM_CONTEXT_INIT", "virtio_gpu"},
    {"capsets", Device, "drm", Texts, Model,
     "supported capability sets: `virgl`, `virgl2`, `gfxstream-vulkan`, `venus`, `cross-domain`, "
     "`drm`; a set that gpuprobe does not know is reported as a number in text form",
     "virtio_gpu"},
    {"error", Device, "drm", Text, Own, "name of the first call that failed, and its error", "all"},
    // ---- vaapi
    {"node", Device, "vaapi v4l2", Text, Own, "path of the node"},
    {"api_version", Device, "vaapi", Version, Model, "version of VA-API in libva: `1.17`"},
    {"driver_name", Device, "vaapi", Text, Model,
     "name of the VA driver that libva loaded, from its file name: `iHD`, `radeonsi`"},
    {"driver_info", Device, "vaapi", Text, Model,
     "description of the driver, from vaQueryVendorString"},
    {"video", Device, "vaapi nvcodec vulkan v4l2", List, Model,
     R"(the video operations that the driver supports, at most 512: `[{"direction", "codec", "profile", "bits", "chroma", "max_width", "max_height", "name"}]`)",
     "", "", "", "VideoEntry"},
    // ---- nvcodec
    {"decode_error", Device, "nvcodec", Text, Own,
     "the reason why the formats that NVDEC decodes are unknown; null if they are known"},
    {"encode_error", Device, "nvcodec", Text, Own,
     "the reason why the formats that NVENC encodes are unknown; null if they are known"},
    {"nvenc_version", Device, "nvcodec", Version, Model,
     "the newest version of the NVENC API that the driver supports: `13.0`"},
    // ---- v4l2
    {"driver_name", Device, "v4l2", Text, Model, "name of the driver, from VIDIOC_QUERYCAP"},
    {"driver_info", Device, "v4l2", Text, Model, "name of the device, from VIDIOC_QUERYCAP"},
    {"error", Device, "nvml level_zero level_zero_sysman", Text, Own,
     "the reason why this device could not be probed"},
    {"error_code", Device, "nvml", Number, Own, "NVML's code for the error in `error`"},
    // ---- results of verifying and measuring a device
    {"check", Device, "vulkan opencl cuda hip level_zero cpu", Object, Own,
     R"(result of the test computation of the stages `verify` and `measure`: `{"result", "words", "wrong_words", "first_wrong", "note"}`; missing if the computation failed in the stage `measure`)"},
    {"measured", Device, "vulkan opencl cuda hip level_zero cpu", Object, Own,
     "results of the stage `measure`: the measured rates, their `spread`, the memory of the "
     "`context`, `duration_usec` and `note`"},
    // ---- about an API as a whole
    {"loader", Runtime, "", Text, Model, "the library that was loaded"},
    {"version", Runtime, "", Version, Model,
     "version of the API or its library: the libpci that gpuprobe was built with, the Vulkan "
     "loader, the first OpenCL platform, the NVML library, the HSA interface (`1.14`) or the HIP "
     "runtime (`6.1.40092`), or the Level Zero loader. For CUDA, the newest CUDA version that the "
     "driver supports"},
    {"loader_name", Runtime, "opencl", Text, Model, "the loader's name: `ocl-icd` or `khronos`"},
    {"loader_path", Runtime, "vulkan opencl", Text, Model, "path of the library that was loaded"},
    {"loader_version", Runtime, "opencl", Text, Model, "version of the loader"},
    {"instance_version", Runtime, "vulkan", Version, Model,
     "Vulkan version that the probe requested for its instance, at most 1.3"},
    {"icd", Runtime, "vulkan", Text, Model, "same as the device fact `icd`"},
    {"platforms", Runtime, "opencl", List, Model,
     "`platform_name`, `platform_vendor` and `platform_version` of each platform"},
    {"driver_version", Runtime, "nvml hip", Version, Model,
     "version of NVIDIA's driver; for HIP, the version of the HIP driver, or null if `route` is "
     "not `hip`"},
    {"cuda_version", Runtime, "nvml", Version, Model,
     "the newest CUDA version that the driver supports"},
    {"route", Runtime, "hip", Text, Model, "library that reported the devices: `hsa` or `hip`"},
    {"build", Runtime, "hip", Text, Model, "version of the HSA library"},
    {"rocm_version", Runtime, "hip", Version, Model,
     "ROCm version from /opt/rocm/.info/version; null if `route` is not `hsa`"},
    // ---- from the kernel
    {"kfd_node", Hardware, "", Number, Own, "number of the device's node in the KFD topology",
     "/sys/class/kfd"},
    {"gfx_target", Hardware, "", Text, Model, "gfx target, such as `gfx90a`",
     "/sys/class/kfd, `gfx_target_version`"},
    {"simd_count", Hardware, "", Number, Model, "number of SIMD units of the KFD node; 0 for a CPU",
     "/sys/class/kfd"},
    {"compute_units", Hardware, "", Number, Model,
     "number of compute units: `simd_count` divided by `simd_per_cu` of the KFD node",
     "/sys/class/kfd"},
    {"kfd_cpu_cores", Hardware, "", Number, Model, "number of CPU cores of the KFD node",
     "/sys/class/kfd"},
    {"vram_vendor", Hardware, "", Text, Own,
     "vendor of the memory chips; only for GPUs with dedicated memory", "amdgpu sysfs"},
    {"has_vddnb", Hardware, "", Flag, Model,
     "hwmon lists `in1_input`, which only APUs have; null if the device has no hwmon folder",
     "names of the files in amdgpu's hwmon folder"},
    {"has_board_info", Hardware, "", Flag, Model,
     "amdgpu created the file `board_info`, which exists only for discrete GPUs", "amdgpu sysfs"},
    {"iommu", Hardware, "", Text, Own,
     "the IOMMU's mode for the device's memory accesses: addresses are translated in the modes "
     "`dma` and `dma-fq`, but not in the mode `identity`",
     "`iommu_group/type` of the device, since Linux 5.11"},
    {"slowdowns", Hardware, "", Texts, Moment,
     "reasons for reduced clocks: the values of NVML's `slowdowns`, or `other`; read only for the "
     "doctor, and not while the GPU is suspended",
     "amdgpu `gpu_metrics`, i915 `gt/gt*/throttle_reason_*`, xe `tile*/gt*/freq0/throttle/*`"},
    {"compute_partition", Hardware, "", Text, Own,
     "compute partition mode in lower case: `spx`, `cpx`", "amdgpu sysfs"},
    {"memory_partition", Hardware, "", Text, Own, "memory partition mode in lower case: `nps1`",
     "amdgpu sysfs"},
    {"nvidia_minor", Hardware, "", Number, Own, "the number N in /dev/nvidiaN",
     "/proc/driver/nvidia"},
    {"connected", Hardware, "", Flag, Own, "a display is connected to the GPU",
     "sysfs DRM connectors"},
    {"firmware", Hardware, "", Text, Own, "the version of an accelerator's firmware",
     "the driver's sysfs file that drivers.json names"},
    {"power_draw", Hardware, "", Number, Moment,
     "power draw of an accelerator in microwatts; not read while the accelerator is suspended",
     "hwmon `power1_input` or `power1_average`"},
    {"power_limit", Hardware, "", Number, Own, "power limit in microwatts",
     "hwmon `power1_cap` or `power1_max`; the driver's sysfs file that drivers.json names"},
    {"temperature", Hardware, "", Number, Moment,
     "temperature of the first sensor in thousandths of a degree Celsius; not read while the "
     "device is suspended",
     "hwmon `temp1_input`; the driver's sysfs file that drivers.json names, or a thermal zone"},
});
}  // namespace known_facts

inline constexpr std::span<const FactInfo> kFactTable{known_facts::kRows};

/// Whether at least one API reports both facts.
constexpr bool overlap(const FactInfo& left, const FactInfo& right) {
    if (left.apis.empty() || right.apis.empty())
        return true;
    for (std::size_t start = 0; start < left.apis.size();) {
        const auto end = std::min(left.apis.find(' ', start), left.apis.size());
        if (has_word(right.apis, left.apis.substr(start, end - start)))
            return true;
        start = end + 1;
    }
    return false;
}

/// Whether both rows may be in one table. Each API has at most one row for a key, no API redefines
/// a key that every device has, and all rows for a key have the same FactSpecificity value.
constexpr bool agree(const FactInfo& left, const FactInfo& right) {
    const auto is_of_device = [](const FactInfo& row) {
        return row.of == FactOf::EveryDevice || row.of == FactOf::Device || row.of == FactOf::View;
    };
    if (left.key != right.key ||
        (left.of != right.of && !(is_of_device(left) && is_of_device(right))))
        return true;
    return left.of == right.of && !overlap(left, right) && left.specificity == right.specificity &&
           left.unit == right.unit && left.momentary_members == right.momentary_members;
}

/// Whether the rows form a valid table: each row has a meaning and a FactSpecificity value, and no
/// two rows contradict each other.
constexpr bool is_fact_table(std::span<const FactInfo> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].key.empty() || rows[i].meaning.empty() ||
            rows[i].specificity == FactSpecificity::Unset)
            return false;
        for (std::size_t j = i + 1; j < rows.size(); ++j)
            if (!agree(rows[i], rows[j]))
                return false;
    }
    return true;
}

/// The row of a key in the object of all facts of a device; null if no row declares the key.
const FactInfo* device_fact(std::string_view key);
/// The row of a key in the facts of an API as a whole; null if no row declares the key.
const FactInfo* runtime_fact(std::string_view key);

/// The first key that a worker may not send because no row declares the key; nullopt if all keys
/// are declared.
std::optional<std::string> undeclared_device_fact(const Value& device);
std::optional<std::string> undeclared_runtime_fact(const Value& runtime);

/// Whether the API reports any device fact that changes by itself (FactSpecificity::Moment).
bool reports_the_moment(std::string_view api);

/// Whether a fact distinguishes a device from other devices of its model. True for an undeclared
/// key, because the meaning of such a key is unknown.
bool may_identify(std::string_view key);
/// Sets every fact for which may_identify() is true to null, in the facts of a device
/// (ApiView::device) and in its alternatives.
void hide_identity(Value& device);
/// Sets every fact or member that changes by itself to null, in the facts of a device and in its
/// alternatives.
void forget_the_moment(Value& device);

}  // namespace gpuprobe::inline report
