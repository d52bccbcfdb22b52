// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "backends/driver_library.h"
#include "backends/nvml/nvml.h"
#include "backends/texts.h"
#include "base/record.h"
#include "base/text.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// Opens a device with a context and a queue. The library must outlive the device.
/// Refusals: `no-compute-device`, `compiler-missing`, `out-of-memory`, `device-lost` or
/// `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_opencl(const DynamicLibrary& library,
                                                    cl_device_id device,
                                                    const DeviceFacts& facts);

namespace {

/// The reason code for an error. Source: OpenCL 3.0 API, "Error Codes".
const char* reason_of(cl_int error) {
    switch (error) {
        case CL_COMPILER_NOT_AVAILABLE:
        case CL_LINKER_NOT_AVAILABLE:
            return "compiler-missing";
        case CL_BUILD_PROGRAM_FAILURE:
        case CL_COMPILE_PROGRAM_FAILURE:
        case CL_LINK_PROGRAM_FAILURE:
            return "build-failed";
        case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        case CL_OUT_OF_RESOURCES:
        case CL_OUT_OF_HOST_MEMORY:
            return "out-of-memory";
        case CL_DEVICE_NOT_AVAILABLE:
            return "device-lost";
        default:
            return "api-refused";
    }
}

Refusal refusal(std::string_view function, cl_int error) {
    return refused_call(reason_of(error), function, opencl_error_name(error), error);
}

/// The compiler options for each kernel. Kernels with the same options are in the same program.
constexpr std::array<std::string_view, kKernels> kOptions = {"-D WITH_CHECK",
                                                             "-D WITH_MEMORY",
                                                             "-D WITH_MEMORY",
                                                             "-D WITH_MEMORY",
                                                             "-D WITH_FP32",
                                                             "-D WITH_FP16",
                                                             "-cl-std=CL3.0 -D WITH_INT8"};
constexpr std::size_t kMaxLog = 65536;

class OpenClDevice final : public ComputeDevice {
public:
    OpenClDevice(const OpenClComputeSymbols& api, cl_device_id device, const ComputeLimits& limits)
        : ComputeDevice{limits}, api_{api}, device_{device}, waiting_{waiting_for(limits.is_cpu)} {}

    Attempt<Done> open();
    Attempt<Done> allocate(Bytes size, Bytes staging) override;
    Attempt<Done> prepare(Kernel kernel) override;
    Attempt<Done> transfer(Direction direction,
                           Buffer buffer,
                           Bytes size,
                           std::uint32_t times) override;
    Attempt<Done> run(const Work& work) override;

private:
    /// Calls a function that creates an object and that stores its error through the last argument.
    /// Returns the object.
    template <class Function, class Release, class... Arguments>
    auto made_by(const Symbol<Function>& create,
                 const Release& release,
                 Arguments... arguments) const {
        cl_int error = CL_SUCCESS;
        const auto handle = create(arguments..., &error);
        using Made = Owned<std::remove_const_t<decltype(handle)>>;
        return handle ? Attempt<Made>{Made{handle, release}}
                      : Attempt<Made>{refusal(create.name, error)};
    }
    Attempt<Owned<cl_program>> program(std::string_view options);
    [[nodiscard]] std::string log_of(cl_program program) const;
    Attempt<Done> set_arguments(cl_kernel kernel, const Work& work);
    /// Waits for all commands in the queue.
    Attempt<Done> finish();
    Attempt<bool> is_complete(cl_event event);

    OpenClComputeSymbols api_;
    cl_device_id device_;
    Waiting waiting_;
    // Keep this order: members are destroyed from last to first, so the context goes last.
    Owned<cl_context> context_ = {};
    Owned<cl_command_queue> queue_ = {};
    Owned<cl_mem> host_ = {};
    std::array<Owned<cl_mem>, 2> buffers_ = {};
    std::array<Owned<cl_program>, kKernels> programs_ = {};  ///< indexed by first_in_module()
    std::array<Owned<cl_kernel>, kKernels> kernels_ = {};
};

Attempt<Done> OpenClDevice::open() {
    context_ = TRY(made_by(api_.create_context, api_.release_context, nullptr, 1U, &device_,
                           nullptr, nullptr));
    queue_ = TRY(made_by(api_.create_queue, api_.release_queue, context_.get(), device_,
                         cl_command_queue_properties{0}));
    return Done{};
}

Attempt<Done> OpenClDevice::allocate(Bytes size, Bytes staging) {
    const auto buffer = [&](cl_mem_flags flags, Bytes bytes) {
        return made_by(api_.create_buffer, api_.release_buffer, context_.get(), flags, bytes.count,
                       nullptr);
    };
    for (auto& one : buffers_)
        one = TRY(buffer(CL_MEM_READ_WRITE, size));
    // The driver allocates this host memory, so that it can pin the memory for fast copies. The
    // memory stays mapped.
    host_ = TRY(buffer(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, staging));
    cl_int error = CL_SUCCESS;
    auto* const memory = api_.map(queue_.get(), host_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                  staging.count, 0, nullptr, nullptr, &error);
    if (!memory)
        return refusal(api_.map.name, error);
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return Done{};
}

Attempt<Done> OpenClDevice::prepare(Kernel kernel) {
    auto& prepared = kernels_[index_of(kernel)];
    if (prepared)
        return Done{};
    auto& built = programs_[first_in_module(kOptions, kernel)];
    if (!built)
        built = TRY(program(kOptions[index_of(kernel)]));
    prepared = TRY(made_by(api_.create_kernel, api_.release_kernel, built.get(),
                           kKernelNames[index_of(kernel)]));
    return Done{};
}

Attempt<Owned<cl_program>> OpenClDevice::program(std::string_view options) {
    const auto source = opencl_kernels();
    const char* text = source.data();
    const std::size_t length = source.size();
    auto made =
        TRY(made_by(api_.create_program, api_.release_program, context_.get(), 1U, &text, &length));
    const auto built =
        call(refusal, api_.build, made.get(), 1U, &device_, options.data(), nullptr, nullptr);
    if (built)
        return made;
    // Add the compiler's first message to the error.
    auto problem = built.error();
    if (const auto line = log_of(made.get()); !line.empty())
        problem.note += ": " + line;
    return problem;
}

/// The first line of the compiler log.
std::string OpenClDevice::log_of(cl_program program) const {
    std::string log(kMaxLog, '\0');
    std::size_t length = 0;
    if (api_.build_info(program, device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), &length) !=
        CL_SUCCESS)
        return "";
    return first_line(log);
}

Attempt<Done> OpenClDevice::transfer(Direction direction,
                                     Buffer buffer,
                                     Bytes size,
                                     std::uint32_t times) {
    const auto memory = buffers_[index_of(buffer)].get();
    for (std::uint32_t i = 0; i < times; ++i) {
        if (direction == Direction::ToDevice)
            (void)TRY(call(refusal, api_.write, queue_.get(), memory, CL_FALSE, 0U, size.count,
                           staging_.data(), 0U, nullptr, nullptr));
        else
            (void)TRY(call(refusal, api_.read, queue_.get(), memory, CL_FALSE, 0U, size.count,
                           staging_.data(), 0U, nullptr, nullptr));
    }
    return finish();
}

Attempt<Done> OpenClDevice::set_arguments(cl_kernel kernel, const Work& work) {
    const auto from = buffers_[index_of(work.from)].get();
    const auto to = buffers_[index_of(other(work.from))].get();
    const auto set = [&](cl_uint index, const auto& value) {
        return call(refusal, api_.set_argument, kernel, index, sizeof value, &value);
    };
    (void)TRY(set(0, from));
    (void)TRY(set(1, to));
    (void)TRY(set(2, work.arguments.rounds));
    (void)TRY(set(3, work.arguments.factor));
    return set(4, work.arguments.addend);
}

Attempt<Done> OpenClDevice::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    const auto kernel = kernels_[index_of(work.kernel)].get();
    (void)TRY(set_arguments(kernel, work));
    const std::size_t threads = std::size_t{work.groups} * kGroupThreads;
    const std::size_t group = kGroupThreads;
    for (std::uint32_t i = 0; i < work.times; ++i)
        (void)TRY(call(refusal, api_.enqueue, queue_.get(), kernel, 1U, nullptr, &threads, &group,
                       0U, nullptr, nullptr));
    return finish();
}

/// Polls an event after the last command, because clFinish has no time limit.
Attempt<Done> OpenClDevice::finish() {
    cl_event event = nullptr;
    (void)TRY(call(refusal, api_.marker, queue_.get(), 0U, nullptr, &event));
    const Owned<cl_event> end{event, api_.release_event};
    (void)TRY(call(refusal, api_.flush, queue_.get()));
    return wait_until([&] { return is_complete(end.get()); }, waiting_);
}

Attempt<bool> OpenClDevice::is_complete(cl_event event) {
    cl_int state = CL_QUEUED;
    (void)TRY(call(refusal, api_.event_info, event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                   &state, nullptr));
    if (state < 0)  // an earlier command failed with this error
        return refusal("a kernel", state);
    return state == CL_COMPLETE;
}

}  // namespace

Attempt<std::unique_ptr<ComputeDevice>> open_opencl(const DynamicLibrary& library,
                                                    cl_device_id device,
                                                    const DeviceFacts& facts) {
    if (facts.extra.at("available").as_bool() == false)
        return Refusal{.code = "no-compute-device",
                       .note = "the device reports that it is not available"};
    if (facts.extra.at("compiler_available").as_bool() == false)
        return Refusal{.code = "compiler-missing", .note = "the device has no compiler"};
    auto limits = limits_from(facts, "fp16");
    if (const auto free = TRY(nvidia_free_memory(facts)))
        limits.free = free;
    const auto api = TRY(compute_functions<OpenClComputeSymbols>(library));
    return opened(std::make_unique<OpenClDevice>(api, device, limits));
}

namespace {

constexpr const char* kLoader = "libOpenCL.so.1";

/// The answer for a failed call.
Answer failed(std::string_view function, cl_int error) {
    return {.outcome = Outcome::Failed,
            .note = std::string{function} + ": " + opencl_error_name(error)};
}

/// Reports the platforms. The reported version is the version of the first platform.
void report_platforms(const std::vector<Value>& platforms, Sink& sink) {
    Value facts{Value::Object{}};
    facts["platforms"] = to_value(platforms);
    const auto* version = platforms.front().at("platform_version").as_string();
    facts["version"] = version ? to_value(api_version_in(*version)) : Value{};
    sink.runtime(facts);
}

/// Reports the name and version of the loader. The name that ocl-icd returns does not identify
/// ocl-icd, so the vendor determines the name. Old loaders, such as the loader in CUDA,
/// report nothing. Sources: ocl_icd_loader.c of OCL-dev/ocl-icd@2faf7063; loader/icd_dispatch.c of
/// KhronosGroup/OpenCL-ICD-Loader@45cdbda4; extension cl_loader_info.
void report_loader(const OpenClSymbols& opencl, Sink& sink) {
    using LoaderInfo = cl_int(cl_uint parameter, std::size_t size, void* value, std::size_t* used);
    constexpr cl_uint kLoaderVersion = 2;
    constexpr cl_uint kLoaderVendor = 4;
    auto* const info =
        opencl.extension
            ? reinterpret_cast<LoaderInfo*>(opencl.extension("clGetICDLoaderInfoOCLICD"))
            : nullptr;
    if (!info)
        return;
    const auto text = [info](cl_uint parameter) {
        std::array<char, 256> value{};
        const auto error = info(parameter, value.size() - 1, value.data(), nullptr);
        return error == CL_SUCCESS ? scrubbed(value.data()) : std::string{};
    };
    const auto vendor = text(kLoaderVendor);
    const auto* name = vendor.starts_with("OCL Icd")   ? "ocl-icd"
                       : vendor.starts_with("Khronos") ? "khronos"
                                                       : "";
    if (*name)
        sink.runtime(Value{Value::Object{{"loader_name", Value{name}},
                                         {"loader_version", Value{text(kLoaderVersion)}}}});
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
    report_platforms(facts, sink);

    // Devices are numbered across platforms. A platform that fails must not hide the other
    // platforms; its error is reported at the end.
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
    return index > 0 ? Answer{} : without_devices("the driver lists no device");
}

}  // namespace

Answer visit_opencl(const ProbeTarget& target, Sink& sink, const VisitDevice& visit) {
    // Set the variables before the driver is loaded, because the driver reads the environment.
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
    report_loader(opencl, sink);
    if (platforms.empty())
        return without_library(target).value_or(without_devices("the driver lists no platform"));
    return visit_platforms(opencl, library, platforms, sink, visit);
}

}  // namespace gpuprobe::backends
