// SPDX-License-Identifier: Apache-2.0
#pragma once

// Types and constants only: every function is looked up at run time.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // for clCreateCommandQueue: 1.2 lacks its successor
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "backends/symbols.h"

namespace gpuprobe::backends {

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
};

/// The functions that run kernels on a device, all of them in OpenCL 1.2.
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
