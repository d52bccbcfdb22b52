// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/opencl/opencl_api.h"
#include "backends/texts.h"

namespace gpuprobe::backends {

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

}  // namespace gpuprobe::backends
