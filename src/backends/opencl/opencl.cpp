// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl.h"

#include <algorithm>

#include "backends/driver_library.h"
#include "backends/nvml/nvidia_gpu.h"
#include "backends/opencl/compute.h"
#include "backends/opencl/facts.h"
#include "base/record.h"

namespace gpuprobe::backends {
namespace {

constexpr const char* kLoader = "libOpenCL.so.1";

/// The answer for a failed call.
Answer failed(std::string_view function, cl_int error) {
    return {.outcome = Outcome::Failed,
            .note = std::string{function} + ": " + opencl_error_name(error)};
}

/// Reports the platforms; the version comes from the first one.
void tell_platforms(const std::vector<Value>& platforms, Sink& sink) {
    Value facts{Value::Object{}};
    facts["platforms"] = to_value(platforms);
    const auto* version = platforms.front().at("platform_version").as_string();
    facts["version"] = version ? to_value(api_version_in(*version)) : Value{};
    sink.runtime(facts);
}

/// The devices of a platform, possibly none, and the driver's error code.
struct DeviceList {
    std::vector<cl_device_id> devices = {};
    cl_int error = CL_SUCCESS;
};

DeviceList devices_of(const OpenClSymbols& opencl, cl_platform_id platform) {
    DeviceList list{.devices = std::vector<cl_device_id>(kMaxOpenClDevices)};
    cl_uint count = 0;
    list.error = opencl.devices(platform, CL_DEVICE_TYPE_ALL, kMaxOpenClDevices,
                                list.devices.data(), &count);
    // A platform without devices counts as an empty list.
    if (list.error == CL_DEVICE_NOT_FOUND) {
        list.error = CL_SUCCESS;
        count = 0;
    }
    list.devices.resize(list.error == CL_SUCCESS ? std::min(count, kMaxOpenClDevices) : 0);
    return list;
}

Answer visit_platforms(const OpenClSymbols& opencl,
                       const DynamicLibrary& library,
                       const std::vector<cl_platform_id>& platforms,
                       Sink& sink,
                       const VisitDevice& visit) {
    std::vector<Value> facts;
    for (const cl_platform_id platform : platforms)
        facts.push_back(platform_facts({opencl.platform_info, platform}));
    tell_platforms(facts, sink);

    // Devices are numbered across platforms. A platform that fails must not hide the others; its
    // error is reported at the end.
    std::uint32_t index = 0;
    cl_int first_error = CL_SUCCESS;
    for (std::size_t i = 0; i < platforms.size(); ++i) {
        sink.phase("enumerate");
        const auto list = devices_of(opencl, platforms[i]);
        if (first_error == CL_SUCCESS)
            first_error = list.error;
        sink.phase("query");
        for (const cl_device_id device : list.devices) {
            const auto known = opencl_facts({opencl.device_info, device}, index++, facts[i]);
            if (!visit(known, [&] { return open_opencl(library, device, known); }))
                return {};
        }
    }
    if (first_error != CL_SUCCESS)
        return failed(opencl.devices.name, first_error);
    return index > 0 ? Answer{} : without_devices("driver offers no device");
}

}  // namespace

Answer visit_opencl(const ProbeTarget& target, Sink& sink, const VisitDevice& visit) {
    // This must come before the driver is loaded, which reads the environment.
    start_only_wanted(target);
    const auto library = TRY(open_library(kLoader, sink));
    const auto opencl = TRY(query_functions<OpenClSymbols>(library));
    sink.runtime(Value{Value::Object{{"loader", Value{library.name()}},
                                     {"loader_path", to_value(library.path())}}});
    if (target.driver.empty())
        return {.outcome = Outcome::Absent, .note = "no .icd file"};

    sink.phase("instance");
    std::vector<cl_platform_id> platforms(kMaxOpenClPlatforms);
    cl_uint count = 0;
    const cl_int error = opencl.platforms(kMaxOpenClPlatforms, platforms.data(), &count);
    // The loader reports CL_PLATFORM_NOT_FOUND_KHR if the driver did not load or has no platform.
    if (error != CL_SUCCESS && error != CL_PLATFORM_NOT_FOUND_KHR)
        return failed(opencl.platforms.name, error);
    platforms.resize(error == CL_SUCCESS ? std::min(count, kMaxOpenClPlatforms) : 0);
    if (platforms.empty())
        return without_library(target).value_or(without_devices("driver offers no platform"));
    return visit_platforms(opencl, library, platforms, sink, visit);
}

}  // namespace gpuprobe::backends
