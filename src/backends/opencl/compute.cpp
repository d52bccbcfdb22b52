// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/compute.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/compute/device.h"
#include "backends/nvml/nvidia_gpu.h"
#include "backends/opencl/kernels.h"
#include "backends/opencl/opencl_refusal.h"
#include "base/handle.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

/// The part of libOpenCL.so.1 that works a device. Source of every signature: OpenCL 3.0 API; all
/// are there since 1.2.
struct Symbols {
    decltype(&clCreateContext) create_context = nullptr;
    decltype(&clReleaseContext) release_context = nullptr;
    decltype(&clCreateCommandQueue) create_queue = nullptr;
    decltype(&clReleaseCommandQueue) release_queue = nullptr;
    decltype(&clCreateBuffer) create_buffer = nullptr;
    decltype(&clReleaseMemObject) release_buffer = nullptr;
    decltype(&clEnqueueMapBuffer) map = nullptr;
    decltype(&clCreateProgramWithSource) create_program = nullptr;
    decltype(&clBuildProgram) build = nullptr;
    decltype(&clGetProgramBuildInfo) build_info = nullptr;
    decltype(&clReleaseProgram) release_program = nullptr;
    decltype(&clCreateKernel) create_kernel = nullptr;
    decltype(&clReleaseKernel) release_kernel = nullptr;
    decltype(&clSetKernelArg) set_argument = nullptr;
    decltype(&clEnqueueNDRangeKernel) enqueue = nullptr;
    decltype(&clEnqueueWriteBuffer) write = nullptr;
    decltype(&clEnqueueReadBuffer) read = nullptr;
    decltype(&clEnqueueMarkerWithWaitList) marker = nullptr;
    decltype(&clFlush) flush = nullptr;
    decltype(&clGetEventInfo) event_info = nullptr;
    decltype(&clReleaseEvent) release_event = nullptr;
};

template <class Pointer>
Status find(const DynamicLibrary& library, const char* name, Pointer& function) {
    function = TRY(library.symbol<std::remove_pointer_t<Pointer>>(name));
    return Done{};
}

Result<Symbols> load(const DynamicLibrary& library) {
    Symbols api;
    (void)TRY(find(library, "clCreateContext", api.create_context));
    (void)TRY(find(library, "clReleaseContext", api.release_context));
    (void)TRY(find(library, "clCreateCommandQueue", api.create_queue));
    (void)TRY(find(library, "clReleaseCommandQueue", api.release_queue));
    (void)TRY(find(library, "clCreateBuffer", api.create_buffer));
    (void)TRY(find(library, "clReleaseMemObject", api.release_buffer));
    (void)TRY(find(library, "clEnqueueMapBuffer", api.map));
    (void)TRY(find(library, "clCreateProgramWithSource", api.create_program));
    (void)TRY(find(library, "clBuildProgram", api.build));
    (void)TRY(find(library, "clGetProgramBuildInfo", api.build_info));
    (void)TRY(find(library, "clReleaseProgram", api.release_program));
    (void)TRY(find(library, "clCreateKernel", api.create_kernel));
    (void)TRY(find(library, "clReleaseKernel", api.release_kernel));
    (void)TRY(find(library, "clSetKernelArg", api.set_argument));
    (void)TRY(find(library, "clEnqueueNDRangeKernel", api.enqueue));
    (void)TRY(find(library, "clEnqueueWriteBuffer", api.write));
    (void)TRY(find(library, "clEnqueueReadBuffer", api.read));
    (void)TRY(find(library, "clEnqueueMarkerWithWaitList", api.marker));
    (void)TRY(find(library, "clFlush", api.flush));
    (void)TRY(find(library, "clGetEventInfo", api.event_info));
    (void)TRY(find(library, "clReleaseEvent", api.release_event));
    return api;
}

/// An OpenCL object and the function that lets it go.
template <class Handle>
class Owned {
public:
    using Release = cl_int (*)(Handle);
    Owned() = default;
    Owned(Handle handle, Release release) : handle_{handle}, release_{release} {}
    Owned(Owned&& other) noexcept
        : handle_{std::exchange(other.handle_, nullptr)}, release_{other.release_} {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(release_, other.release_);
        return *this;
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
        if (handle_)
            (void)release_(handle_);  // nothing to do about a refusal
    }
    [[nodiscard]] Handle get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }

private:
    Handle handle_ = nullptr;
    Release release_ = nullptr;
};

struct KernelName {
    const char* function;
    const char* options;  ///< what it is built with; one program for each
};
constexpr std::array<KernelName, kKernels> kNames = {{
    {"check", "-D WITH_CHECK"},
    {"fill", "-D WITH_MEMORY"},
    {"read", "-D WITH_MEMORY"},
    {"copy", "-D WITH_MEMORY"},
    {"fp32", "-D WITH_FP32"},
    {"fp16", "-D WITH_FP16"},
    {"int8", "-cl-std=CL3.0 -D WITH_INT8"},
}};
constexpr std::size_t kMaxLog = 65536;
constexpr std::size_t kMaxLogLine = 200;

class OpenClDevice final : public ComputeDevice {
public:
    OpenClDevice(const Symbols& api, cl_device_id device, const ComputeLimits& limits)
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
    Attempt<Owned<cl_mem>> buffer(cl_mem_flags flags, Bytes size);
    Attempt<Owned<cl_program>> program(const char* options);
    [[nodiscard]] std::string first_line_of_log(cl_program program) const;
    Attempt<Done> set_arguments(cl_kernel kernel, const Work& work);
    /// Waits for all that is in the queue.
    Attempt<Done> finish();
    Attempt<bool> is_complete(cl_event event);
    [[nodiscard]] cl_mem device_buffer(Buffer buffer) const {
        return buffers_[static_cast<std::size_t>(buffer)].get();
    }

    Symbols api_;
    cl_device_id device_;
    Waiting waiting_;
    // In this order: what comes later goes first.
    Owned<cl_context> context_ = {};
    Owned<cl_command_queue> queue_ = {};
    Owned<cl_mem> host_ = {};
    std::array<Owned<cl_mem>, 2> buffers_ = {};
    std::array<Owned<cl_program>, kKernels> programs_ = {};
    std::array<Owned<cl_kernel>, kKernels> kernels_ = {};
};

Attempt<Done> OpenClDevice::open() {
    cl_int error = CL_SUCCESS;
    context_ = {api_.create_context(nullptr, 1, &device_, nullptr, nullptr, &error),
                api_.release_context};
    if (!context_)
        return opencl_refusal("clCreateContext", error);
    queue_ = {api_.create_queue(context_.get(), device_, 0, &error), api_.release_queue};
    if (!queue_)
        return opencl_refusal("clCreateCommandQueue", error);
    return Done{};
}

Attempt<Owned<cl_mem>> OpenClDevice::buffer(cl_mem_flags flags, Bytes size) {
    cl_int error = CL_SUCCESS;
    Owned<cl_mem> made{api_.create_buffer(context_.get(), flags, size.count, nullptr, &error),
                       api_.release_buffer};
    if (!made)
        return opencl_refusal("clCreateBuffer", error);
    return made;
}

Attempt<Done> OpenClDevice::allocate(Bytes size, Bytes staging) {
    for (auto& one : buffers_)
        one = TRY(buffer(CL_MEM_READ_WRITE, size));
    host_ = TRY(buffer(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, staging));
    cl_int error = CL_SUCCESS;
    auto* const memory = api_.map(queue_.get(), host_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                  staging.count, 0, nullptr, nullptr, &error);
    if (!memory)
        return opencl_refusal("clEnqueueMapBuffer", error);
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return Done{};
}

Attempt<Done> OpenClDevice::prepare(Kernel kernel) {
    const auto number = static_cast<std::size_t>(kernel);
    if (kernels_[number])
        return Done{};
    const auto& name = kNames[number];
    // The first kernel with the same options keeps the program for all of them.
    const auto first = static_cast<std::size_t>(
        std::ranges::find(kNames, std::string_view{name.options}, &KernelName::options) -
        kNames.begin());
    if (!programs_[first])
        programs_[first] = TRY(program(name.options));
    cl_int error = CL_SUCCESS;
    kernels_[number] = {api_.create_kernel(programs_[first].get(), name.function, &error),
                        api_.release_kernel};
    if (!kernels_[number])
        return opencl_refusal("clCreateKernel", error);
    return Done{};
}

Attempt<Owned<cl_program>> OpenClDevice::program(const char* options) {
    const auto source = opencl_kernels();
    const char* text = source.data();
    const std::size_t length = source.size();
    cl_int error = CL_SUCCESS;
    Owned<cl_program> made{api_.create_program(context_.get(), 1, &text, &length, &error),
                           api_.release_program};
    if (!made)
        return opencl_refusal("clCreateProgramWithSource", error);
    error = api_.build(made.get(), 1, &device_, options, nullptr, nullptr);
    if (error == CL_SUCCESS)
        return made;
    auto refusal = opencl_refusal("clBuildProgram", error);
    if (const auto line = first_line_of_log(made.get()); !line.empty())
        refusal.note += ": " + line;
    return refusal;
}

std::string OpenClDevice::first_line_of_log(cl_program program) const {
    std::string log(kMaxLog, '\0');
    std::size_t length = 0;
    if (api_.build_info(program, device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), &length) !=
        CL_SUCCESS)
        return "";
    const auto text = trimmed(std::string_view{log.c_str()});
    return scrubbed(text.substr(0, text.find('\n')), kMaxLogLine);
}

Attempt<Done> OpenClDevice::transfer(Direction direction,
                                     Buffer buffer,
                                     Bytes size,
                                     std::uint32_t times) {
    const auto memory = device_buffer(buffer);
    for (std::uint32_t i = 0; i < times; ++i) {
        const cl_int error = direction == Direction::ToDevice
                                 ? api_.write(queue_.get(), memory, CL_FALSE, 0, size.count,
                                              staging_.data(), 0, nullptr, nullptr)
                                 : api_.read(queue_.get(), memory, CL_FALSE, 0, size.count,
                                             staging_.data(), 0, nullptr, nullptr);
        if (error != CL_SUCCESS)
            return opencl_refusal(
                direction == Direction::ToDevice ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer",
                error);
    }
    return finish();
}

Attempt<Done> OpenClDevice::set_arguments(cl_kernel kernel, const Work& work) {
    const auto from = device_buffer(work.from);
    const auto to = device_buffer(other(work.from));
    const auto set = [&](cl_uint index, const auto& value) {
        return api_.set_argument(kernel, index, sizeof value, &value);
    };
    cl_int error = set(0, from);
    for (const cl_int next :
         {set(1, to), set(2, cl_uint{work.arguments.rounds}), set(3, cl_int{work.arguments.factor}),
          set(4, cl_int{work.arguments.addend})})
        error = error == CL_SUCCESS ? next : error;
    if (error != CL_SUCCESS)
        return opencl_refusal("clSetKernelArg", error);
    return Done{};
}

Attempt<Done> OpenClDevice::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    const auto kernel = kernels_[static_cast<std::size_t>(work.kernel)].get();
    (void)TRY(set_arguments(kernel, work));
    const std::size_t threads = std::size_t{work.groups} * kGroupThreads;
    const std::size_t group = kGroupThreads;
    for (std::uint32_t i = 0; i < work.times; ++i) {
        const cl_int error =
            api_.enqueue(queue_.get(), kernel, 1, nullptr, &threads, &group, 0, nullptr, nullptr);
        if (error != CL_SUCCESS)
            return opencl_refusal("clEnqueueNDRangeKernel", error);
    }
    return finish();
}

/// By an event that is asked for: clFinish has no limit.
Attempt<Done> OpenClDevice::finish() {
    cl_event event = nullptr;
    cl_int error = api_.marker(queue_.get(), 0, nullptr, &event);
    if (error != CL_SUCCESS)
        return opencl_refusal("clEnqueueMarkerWithWaitList", error);
    const Owned<cl_event> end{event, api_.release_event};
    error = api_.flush(queue_.get());
    if (error != CL_SUCCESS)
        return opencl_refusal("clFlush", error);
    return wait_until([&] { return is_complete(end.get()); }, waiting_);
}

Attempt<bool> OpenClDevice::is_complete(cl_event event) {
    cl_int state = CL_QUEUED;
    const cl_int error =
        api_.event_info(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    if (error != CL_SUCCESS)
        return opencl_refusal("clGetEventInfo", error);
    if (state < 0)  // the error of a command before it
        return opencl_refusal("a kernel", state);
    return state == CL_COMPLETE;
}

ComputeLimits limits_of(const DeviceFacts& facts, std::optional<Bytes> nvidia_free) {
    const bool is_cpu = facts.type == DeviceType::Cpu;
    const auto told = facts.memory ? facts.memory->free : std::nullopt;
    const auto& largest = facts.extra.at("max_memory_allocation_size");
    const auto max_buffer = largest.as_unsigned();
    return ComputeLimits{
        .free = is_cpu        ? free_host_memory()
                : nvidia_free ? nvidia_free
                              : told,
        .max_buffer = max_buffer ? std::optional{Bytes{*max_buffer}} : std::nullopt,
        .is_cpu = is_cpu,
        .has_fp16 = facts.extra.at("fp16").as_bool().value_or(false),
        .has_int8 = facts.extra.at("integer_dot_product").as_bool().value_or(false)};
}

}  // namespace

Attempt<std::unique_ptr<ComputeDevice>> open_opencl(const DynamicLibrary& library,
                                                    cl_device_id device,
                                                    const DeviceFacts& facts) {
    if (facts.extra.at("available").as_bool() == false)
        return Refusal{.code = "no-compute-device", .note = "the device says it is not available"};
    if (facts.extra.at("compiler_available").as_bool() == false)
        return Refusal{.code = "compiler-missing", .note = "the device has no compiler"};
    const auto free = TRY(nvidia_free_memory(facts));
    const auto api = load(library);
    if (!api)
        return Refusal{.code = "api-refused", .note = api.error().text};
    auto opened = std::make_unique<OpenClDevice>(*api, device, limits_of(facts, free));
    (void)TRY(opened->open());
    return std::unique_ptr<ComputeDevice>{std::move(opened)};
}

}  // namespace gpuprobe::backends
