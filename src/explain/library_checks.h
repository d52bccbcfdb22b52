// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explain/checks.h"

/// What is not installed: loaders, drivers, and what they consist of.
namespace gpuprobe {

Evidence no_driver(const Report& report, const Gpu& gpu);
Evidence nouveau(const Report& report, const Gpu& gpu);
Evidence cuda_library_missing(const Report& report, const Gpu& gpu);
Evidence vulkan_loader_missing(const Report& report, const Gpu& gpu);
Evidence vulkan_driver_missing(const Report& report, const Gpu& gpu);
Evidence opencl_loader_missing(const Report& report, const Gpu& gpu);
Evidence opencl_driver_missing(const Report& report, const Gpu& gpu);
Evidence rocm_missing(const Report& report, const Gpu& gpu);
Evidence level_zero_missing(const Report& report, const Gpu& gpu);
/// A manifest whose library is not there.
Evidence stale_manifest(const Report& report, const Gpu& gpu);

}  // namespace gpuprobe
