// SPDX-License-Identifier: Apache-2.0
#pragma once

// Types and constants only: every function is looked up at run time.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue: the only one that 1.2 has
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "backends/symbols.h"

namespace gpuprobe::backends {

/// What Khronos's headers leave to the vendors. Sources: NVIDIA's cl_nv_device_attribute_query as
/// clinfo's src/ext.h lists it.
constexpr cl_device_info kPciBusIdNv = 0x4008;
constexpr cl_device_info kPciSlotIdNv = 0x4009;  ///< device << 3 | function
constexpr cl_device_info kPciDomainIdNv = 0x400A;

/// What a query calls of libOpenCL.so.1.
struct OpenClSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<decltype(clGetPlatformIDs)> platforms{*this, "clGetPlatformIDs"};
    Symbol<decltype(clGetDeviceIDs)> devices{*this, "clGetDeviceIDs"};
    Symbol<decltype(clGetPlatformInfo)> platform_info{*this, "clGetPlatformInfo"};
    Symbol<decltype(clGetDeviceInfo)> device_info{*this, "clGetDeviceInfo"};
};

/// What runs kernels on a device; all of it since OpenCL 1.2.
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

}  // namespace gpuprobe::backends
