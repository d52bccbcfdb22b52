// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/opencl/api.h"
#include "backends/texts.h"
#include "base/value.h"
#include "report/facts.h"

namespace gpuprobe::backends {

// OpenCL's numbers as the words and texts that facts carry.

/// "CL_DEVICE_NOT_FOUND"; "OpenCL error -77" for one that has no name here.
std::string opencl_error_name(cl_int error);

/// "3.0.0" of a packed cl_version: 10, 10 and 12 bits. Source: OpenCL 3.0 API, cl_version.
std::string packed_version_text(cl_version version);

/// "3.0" of "OpenCL 3.0 PoCL 3.1"; nullopt for anything else. Source: OpenCL 3.0 API,
/// CL_DEVICE_VERSION: "OpenCL<space><major.minor><space><vendor-specific>".
std::optional<std::string> api_version_in(std::string_view text);

/// The words for the set bits of CL_DEVICE_SVM_CAPABILITIES.
Value svm_words(cl_device_svm_capabilities capabilities);

/// One OpenCL object's answers: clGetDeviceInfo or clGetPlatformInfo of one handle.
///
/// Whatever a driver refuses, or answers in another size than the specification's, is nullopt.
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
    [[nodiscard]] std::optional<bool> flag(cl_uint what) const {
        const auto answer = value<cl_bool>(what);
        return answer ? std::optional{*answer != CL_FALSE} : std::nullopt;
    }
    /// An array of values, at most kMaxInfoSize bytes of them.
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
    /// A text for a report; nullopt when refused or empty.
    [[nodiscard]] std::optional<std::string> text(cl_uint what) const {
        const auto bytes = list<char>(what);
        return bytes ? clean_text({bytes->data(), bytes->size()}) : std::nullopt;
    }
    /// The same up to its first NUL, as the driver wrote it; it may be anything but UTF-8.
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

/// The words of a text, scrubbed, sorted, each once, at most kMaxExtensionNames.
std::optional<std::vector<std::string>> word_list(const std::optional<std::string>& raw);
constexpr std::size_t kMaxExtensionNames = 1024;

/// Where an OpenCL device sits on PCI, and which extension says so.
struct DeviceAddress {
    PciAddress address = {};
    std::string_view source = {};
};

/// From cl_khr_pci_bus_info, cl_nv_device_attribute_query or cl_amd_device_attribute_query, in this
/// order, each asked only when it is in `extensions` (sorted). AMD's has no domain and its numbers
/// pass through a signed char; NVIDIA's older drivers have no domain either: 0 then. An all-zero or
/// impossible address is nullopt.
/// Sources: Khronos OpenCL extension specifications; clinfo, src/clinfo.c; NVIDIA and AMD headers.
std::optional<DeviceAddress> device_address(const DeviceInfo& device,
                                            const std::vector<std::string>& extensions);

/// What one OpenCL device says about itself. docs/facts.md lists every key. Vendors' queries are
/// asked only where their extension is listed. `platform` is an object whose members are added.
DeviceFacts opencl_facts(const DeviceInfo& device, std::uint32_t index, const Value& platform);

/// The members platform_name, platform_vendor and platform_version.
Value platform_facts(const PlatformInfo& platform);

/// Source: OpenCL 3.0 API, CL_DEVICE_TYPE. A GPU is integrated when it shares the host's memory,
/// and of no known type when it does not say.
std::optional<DeviceType> opencl_device_type(std::optional<cl_device_type> type,
                                             std::optional<bool> shares_memory);

}  // namespace gpuprobe::backends
