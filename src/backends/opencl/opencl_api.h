// SPDX-License-Identifier: Apache-2.0
#pragma once

// Types and constants only: every function is looked up at run time.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue: the only one that 1.2 has
#include <CL/cl.h>
#include <CL/cl_ext.h>

/// What Khronos's headers leave to the vendors. Sources: NVIDIA's cl_nv_device_attribute_query as
/// clinfo's src/ext.h lists it.
namespace gpuprobe::backends {

constexpr cl_device_info kPciBusIdNv = 0x4008;
constexpr cl_device_info kPciSlotIdNv = 0x4009;  ///< device << 3 | function
constexpr cl_device_info kPciDomainIdNv = 0x400A;

}  // namespace gpuprobe::backends
