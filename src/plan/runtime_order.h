// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "report/report.h"

namespace gpuprobe::inline plan {

/// The GPUs in the order in which llama.cpp lists them, told to use these: by the position that the
/// API's driver gives each. SYCL's backend has one of its own. As they came where it is not known.
/// `gpus` are borrowed.
///
/// Source: CUDA, ROCm and Vulkan keep the order of the driver, or of the variable that names them
/// (data/knowledge/selectors.json). SYCL's is dev_mgr of ggml/src/ggml-sycl/dpct/helper.hpp,
/// ggml-org/llama.cpp at 0746c0d13b7b: the device of gpu_selector_v, then those with more compute
/// units, of what Level Zero lists by address once ZE_ENABLE_PCI_ID_DEVICE_ORDER is set.
std::vector<const Gpu*> in_runtime_order(std::string_view backend, std::vector<const Gpu*> gpus);

}  // namespace gpuprobe::inline plan
