// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Names and paths on the bus. The bus name can be changed at build time (GPUPROBE_BUS_NAME);
/// interfaces and paths cannot.
namespace gpuprobe::bus {

constexpr const char* kBusName = GPUPROBE_BUS_NAME;
constexpr const char* kRootPath = "/org/gpuprobe/GpuProbe1";
constexpr const char* kGpuPath = "/org/gpuprobe/GpuProbe1/gpu/";
constexpr const char* kJobPath = "/org/gpuprobe/GpuProbe1/job/";
constexpr const char* kLogControlPath = "/org/freedesktop/LogControl1";

}  // namespace gpuprobe::bus
