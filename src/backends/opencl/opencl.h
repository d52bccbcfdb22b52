// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Khronos's headers are used only for types and constants: every function is looked up at run time.
#define CL_TARGET_OPENCL_VERSION 300
// This macro enables clCreateCommandQueue, because OpenCL 1.2 lacks the function that replaces it.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "backends/backend.h"
#include "backends/driver_library.h"
#include "backends/texts.h"
#include "base/value.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// Visits the devices of every type on the platforms of one OpenCL driver. Does not create a
/// context; a context is created only when a device is opened.
///
/// The environment must restrict the loader to the target's driver (OCL_ICD_VENDORS). If the target
/// has no driver, only the loader is checked. The answer is Absent if there is no loader, no .icd
/// file, no platform, or no device.
Answer visit_opencl(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

constexpr unsigned kMaxOpenClPlatforms = 16;
constexpr unsigned kMaxOpenClDevices = 64;  ///< the limit for each platform

/// The content of kernels.cl, embedded at build time.
std::string_view opencl_kernels();

/// Numbers that Khronos's headers lack. Source: NVIDIA's cl_nv_device_attribute_query, as listed in
/// clinfo's src/ext.h.
constexpr cl_device_info kPciBusIdNv = 0x4008;
constexpr cl_device_info kPciSlotIdNv = 0x4009;  ///< device << 3 | function
constexpr cl_device_info kPciDomainIdNv = 0x400A;

/// The functions of libOpenCL.so.1 that a query calls.
struct OpenClSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<decltype(clGetPlatformIDs)> platforms{*this, "clGetPlatformIDs"};
    Symbol<decltype(clGetDeviceIDs)> devices{*this, "clGetDeviceIDs"};
    Symbol<decltype(clGetPlatformInfo)> platform_info{*this, "clGetPlatformInfo"};
    Symbol<decltype(clGetDeviceInfo)> device_info{*this, "clGetDeviceInfo"};
    OptionalSymbol<void*(const char* name)> extension{*this, "clGetExtensionFunctionAddress"};
};

/// The functions that run kernels on a device. OpenCL 1.2 contains all of these functions.
struct OpenClComputeSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<decltype(clCreateContext)> create_context{*this, "clCreateContext"};
    Symbol<decltype(clReleaseContext)> release_context{*this, "clReleaseContext"};
    Symbol<decltype(clCreateCommandQueue)> create_queue{*this, "clCreateCommandQueue"};
    Symbol<decltype(clReleaseCommandQueue)> release_queue{*this, "clReleaseCommandQueue"};
    Symbol<decltype(clCreateBuffer)> create_buffer{*this, "clCreateBuffer"};
    Symbol<decltype(clReleaseMemObject)> release_buffer{*this, "clReleaseMemObject"};
    Symbol<decltype(clEnqueueMapBuffer)> map{*this, "clEnqueueMapBuffer"};
    Symbol<decltype(clCreateProgramWithSource)> create_program{*this, "clCreateProgramWithSource"};
    Symbol<decltype(clBuildProgram)> build{*this, "clBuildProgram"};
    Symbol<decltype(clGetProgramBuildInfo)> build_info{*this, "clGetProgramBuildInfo"};
    Symbol<decltype(clReleaseProgram)> release_program{*this, "clReleaseProgram"};
    Symbol<decltype(clCreateKernel)> create_kernel{*this, "clCreateKernel"};
    Symbol<decltype(clReleaseKernel)> release_kernel{*this, "clReleaseKernel"};
    Symbol<decltype(clSetKernelArg)> set_argument{*this, "clSetKernelArg"};
    Symbol<decltype(clEnqueueNDRangeKernel)> enqueue{*this, "clEnqueueNDRangeKernel"};
    Symbol<decltype(clEnqueueWriteBuffer)> write{*this, "clEnqueueWriteBuffer"};
    Symbol<decltype(clEnqueueReadBuffer)> read{*this, "clEnqueueReadBuffer"};
    Symbol<decltype(clEnqueueMarkerWithWaitList)> marker{*this, "clEnqueueMarkerWithWaitList"};
    Symbol<decltype(clFlush)> flush{*this, "clFlush"};
    Symbol<decltype(clGetEventInfo)> event_info{*this, "clGetEventInfo"};
    Symbol<decltype(clReleaseEvent)> release_event{*this, "clReleaseEvent"};
};

// The following functions convert OpenCL's numbers into the words and strings that facts use.

/// The name of an error, such as "CL_DEVICE_NOT_FOUND", or "OpenCL error -77" for unknown numbers.
std::string opencl_error_name(cl_int error);

/// A packed cl_version (10, 10, 12 bits) as a string such as "3.0.0". Source: OpenCL 3.0 API,
/// cl_version.
std::string packed_version_text(cl_version version);

/// The API version in a version string, such as "3.0" for "OpenCL 3.0 PoCL 3.1"; nullopt for other
/// forms. Source: OpenCL 3.0 API, CL_DEVICE_VERSION:
/// "OpenCL<space><major.minor><space><vendor-specific>".
std::optional<std::string> api_version_in(std::string_view text);

/// Reads the properties of one OpenCL object, with clGetDeviceInfo or clGetPlatformInfo.
///
/// A value is nullopt if the driver refuses the query, or returns a size that differs from the
/// specification.
template <class Handle>
class InfoReader {
public:
    using Getter = cl_int (*)(Handle, cl_uint, std::size_t, void*, std::size_t*);

    InfoReader(Getter getter, Handle handle) : getter_{getter}, handle_{handle} {}

    /// A value of fixed size.
    template <class T>
    [[nodiscard]] std::optional<T> value(cl_uint what) const {
        T answer{};
        std::size_t size = 0;
        if (getter_(handle_, what, sizeof answer, &answer, &size) != CL_SUCCESS)
            return std::nullopt;
        return size == sizeof answer ? std::optional{answer} : std::nullopt;
    }
    /// A value of type cl_bool.
    [[nodiscard]] std::optional<bool> flag(cl_uint what) const {
        const auto answer = value<cl_bool>(what);
        return answer ? std::optional{*answer != CL_FALSE} : std::nullopt;
    }
    /// An array of values, at most kMaxInfoSize bytes.
    template <class T>
    [[nodiscard]] std::optional<std::vector<T>> list(cl_uint what) const {
        std::size_t size = 0;
        if (getter_(handle_, what, 0, nullptr, &size) != CL_SUCCESS)
            return std::nullopt;
        if (size > kMaxInfoSize || size % sizeof(T) != 0)
            return std::nullopt;
        std::vector<T> items(size / sizeof(T));
        if (size != 0 && getter_(handle_, what, size, items.data(), nullptr) != CL_SUCCESS)
            return std::nullopt;
        return items;
    }
    /// A string, cleaned for a report; nullopt if the driver refuses the query or if the string is
    /// empty.
    [[nodiscard]] std::optional<std::string> text(cl_uint what) const {
        const auto bytes = list<char>(what);
        return bytes ? clean_text({bytes->data(), bytes->size()}) : std::nullopt;
    }
    /// A string up to its first NUL, exactly as the driver wrote it; possibly invalid UTF-8.
    [[nodiscard]] std::optional<std::string> raw_text(cl_uint what) const {
        const auto bytes = list<char>(what);
        if (!bytes)
            return std::nullopt;
        const std::string_view all{bytes->data(), bytes->size()};
        return std::string{all.substr(0, all.find('\0'))};
    }

    static constexpr std::size_t kMaxInfoSize = std::size_t{1} << 18;

private:
    Getter getter_ = nullptr;
    Handle handle_ = nullptr;
};

using DeviceInfo = InfoReader<cl_device_id>;
using PlatformInfo = InfoReader<cl_platform_id>;

/// The words of a string, scrubbed, sorted and without duplicates, at most kMaxExtensionNames.
std::optional<std::vector<std::string>> word_list(const std::optional<std::string>& raw);
constexpr std::size_t kMaxExtensionNames = 1024;

/// The PCI address of a device, and the extension that reported it.
struct DeviceAddress {
    PciAddress address = {};
    std::string_view source = {};
};

/// The address from the first of these extensions that reports one: cl_khr_pci_bus_info,
/// cl_nv_device_attribute_query, cl_amd_device_attribute_query. Each extension is queried only if
/// it is in `extensions` (sorted). AMD's extension reports no domain, and its numbers are of type
/// signed char; NVIDIA's older drivers report no domain either. A missing domain counts as 0.
/// nullopt for an all-zero or impossible address.
/// Sources: Khronos OpenCL extension specifications; clinfo, src/clinfo.c; NVIDIA and AMD headers.
std::optional<DeviceAddress> device_address(const DeviceInfo& device,
                                            const std::vector<std::string>& extensions);

/// The facts of one device. docs/internals/facts.md lists every key. Vendor extensions are queried
/// only if the device lists them. The members of the object `platform` are added to the facts.
DeviceFacts opencl_facts(const DeviceInfo& device, std::uint32_t index, const Value& platform);

/// The members platform_name, platform_vendor and platform_version.
Value platform_facts(const PlatformInfo& platform);

/// The type of a device. A GPU is integrated if it shares the host's memory. The type is nullopt if
/// it is unknown whether a GPU shares the host's memory. Source: OpenCL 3.0 API, CL_DEVICE_TYPE.
std::optional<DeviceType> opencl_device_type(std::optional<cl_device_type> type,
                                             std::optional<bool> shares_memory);

}  // namespace gpuprobe::backends
