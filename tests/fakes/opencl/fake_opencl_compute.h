// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "../compute.h"

/// The part of the driver that computes. FAKE_FAULT is one of fake::Fault. Uses host memory,
/// computes immediately, and crashes if an object is not released before the context.
namespace {

constexpr auto kFault = fake::Fault::FAKE_FAULT;
int launches = 0;
int held = 0;

bool is_lost() {
    return kFault == fake::Fault::LostHalfway && launches > 0;
}

/// An object that a program has created and not yet released.
struct Held : Object {
    Held() { ++held; }
    ~Held() { --held; }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
};
struct Memory : Held {
    void* bytes = nullptr;
};
struct Kernel : Held {
    std::string name = {};
    std::uint64_t arguments[5] = {};
};

template <class Handle, class Thing>
Handle handle_of(Thing* thing) {
    return reinterpret_cast<Handle>(thing);
}
template <class Thing, class Handle>
Thing& thing_of(Handle handle) {
    return *reinterpret_cast<Thing*>(handle);
}
template <class Handle, class Thing>
Handle made(Thing* thing, cl_int* error) {
    *error = CL_SUCCESS;
    return handle_of<Handle>(thing);
}
template <class Thing, class Handle>
cl_int release(Handle handle) {
    delete &thing_of<Thing>(handle);
    return CL_SUCCESS;
}

cl_context CL_API_CALL create_context(const cl_context_properties*,
                                      cl_uint,
                                      const cl_device_id*,
                                      void(CL_CALLBACK*)(const char*, const void*, size_t, void*),
                                      void*,
                                      cl_int* error) {
    return made<cl_context>(new Held, error);
}
cl_int release_context(cl_context context) {
    if (held != 1)
        std::abort();
    return release<Held>(context);
}
cl_command_queue create_queue(cl_context,
                              cl_device_id,
                              cl_command_queue_properties,
                              cl_int* error) {
    return made<cl_command_queue>(new Held, error);
}
cl_mem create_buffer(cl_context, cl_mem_flags, size_t size, void*, cl_int* error) {
    if (kFault == fake::Fault::NoMemory) {
        *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return nullptr;
    }
    auto* const memory = new Memory;
    memory->bytes = std::malloc(size);
    return made<cl_mem>(memory, error);
}
cl_int release_buffer(cl_mem memory) {
    std::free(thing_of<Memory>(memory).bytes);
    return release<Memory>(memory);
}
void* map_buffer(cl_command_queue,
                 cl_mem memory,
                 cl_bool,
                 cl_map_flags,
                 size_t offset,
                 size_t,
                 cl_uint,
                 const cl_event*,
                 cl_event*,
                 cl_int* error) {
    *error = CL_SUCCESS;
    return static_cast<char*>(thing_of<Memory>(memory).bytes) + offset;
}
cl_program create_program(cl_context, cl_uint, const char**, const size_t*, cl_int* error) {
    return made<cl_program>(new Held, error);
}
cl_int build(cl_program,
             cl_uint,
             const cl_device_id*,
             const char*,
             void(CL_CALLBACK*)(cl_program, void*),
             void*) {
    if (kFault == fake::Fault::NoCompiler)
        return CL_COMPILER_NOT_AVAILABLE;
    return kFault == fake::Fault::BuildFails ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}
cl_int build_info(
    cl_program, cl_device_id, cl_program_build_info, size_t capacity, void* out, size_t* size) {
    return hand_out_text("\nline 1: \x1b[31mno\x1b[0m\nline 2", capacity, out, size);
}
cl_kernel create_kernel(cl_program, const char* name, cl_int* error) {
    auto* const kernel = new Kernel;
    kernel->name = name;
    return made<cl_kernel>(kernel, error);
}
cl_int set_argument(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
    std::memcpy(&thing_of<Kernel>(kernel).arguments[index], value, size);
    return CL_SUCCESS;
}
cl_int enqueue(cl_command_queue,
               cl_kernel handle,
               cl_uint,
               const size_t*,
               const size_t* threads,
               const size_t* group,
               cl_uint,
               const cl_event*,
               cl_event*) {
    if (kFault == fake::Fault::Crash)
        fake::crash();
    ++launches;
    if (*group != 128)
        return CL_INVALID_WORK_GROUP_SIZE;
    const auto& kernel = thing_of<Kernel>(handle);
    const auto words = [&](int index) {
        auto* const memory = reinterpret_cast<Memory*>(kernel.arguments[index]);
        return static_cast<std::uint32_t*>(memory->bytes);
    };
    fake::compute({.kernel = kernel.name,
                   .from = words(0),
                   .to = words(1),
                   .groups = static_cast<std::uint32_t>(*threads / *group),
                   .rounds = static_cast<std::uint32_t>(kernel.arguments[2]),
                   .factor = static_cast<std::int32_t>(kernel.arguments[3]),
                   .addend = static_cast<std::int32_t>(kernel.arguments[4])},
                  kFault);
    return CL_SUCCESS;
}
cl_int write(cl_command_queue,
             cl_mem memory,
             cl_bool,
             size_t,
             size_t size,
             const void* from,
             cl_uint,
             const cl_event*,
             cl_event*) {
    std::memcpy(thing_of<Memory>(memory).bytes, from, size);
    return CL_SUCCESS;
}
cl_int read(cl_command_queue,
            cl_mem memory,
            cl_bool,
            size_t,
            size_t size,
            void* to,
            cl_uint,
            const cl_event*,
            cl_event*) {
    std::memcpy(to, thing_of<Memory>(memory).bytes, size);
    return CL_SUCCESS;
}
cl_int marker(cl_command_queue, cl_uint, const cl_event*, cl_event* event) {
    *event = handle_of<cl_event>(new Held);
    return CL_SUCCESS;
}
cl_int flush(cl_command_queue) {
    return is_lost() ? CL_DEVICE_NOT_AVAILABLE : CL_SUCCESS;
}
cl_int event_info(cl_event, cl_event_info, size_t capacity, void* out, size_t* size) {
    const bool is_done = kFault != fake::Fault::NeverEnds || launches == 0;
    return hand_out_value(cl_int{is_done ? CL_COMPLETE : CL_RUNNING}, capacity, out, size);
}

void add_compute(cl_icd_dispatch& table) {
    table.clCreateContext = create_context;
    table.clReleaseContext = release_context;
    table.clCreateCommandQueue = create_queue;
    table.clReleaseCommandQueue = release<Held, cl_command_queue>;
    table.clCreateBuffer = create_buffer;
    table.clReleaseMemObject = release_buffer;
    table.clEnqueueMapBuffer = map_buffer;
    table.clCreateProgramWithSource = create_program;
    table.clBuildProgram = build;
    table.clGetProgramBuildInfo = build_info;
    table.clReleaseProgram = release<Held, cl_program>;
    table.clCreateKernel = create_kernel;
    table.clReleaseKernel = release<Kernel, cl_kernel>;
    table.clSetKernelArg = set_argument;
    table.clEnqueueNDRangeKernel = enqueue;
    table.clEnqueueWriteBuffer = write;
    table.clEnqueueReadBuffer = read;
    table.clEnqueueMarkerWithWaitList = marker;
    table.clFlush = flush;
    table.clGetEventInfo = event_info;
    table.clReleaseEvent = release<Held, cl_event>;
}

}  // namespace
