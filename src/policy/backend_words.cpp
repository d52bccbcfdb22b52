// SPDX-License-Identifier: Apache-2.0
#include "policy/backend_words.h"

#include <algorithm>

namespace gpuprobe::inline policy {
namespace {

/// On no API of ours. Source: the backend folders of ggml and the device names of PyTorch, ONNX
/// Runtime and wgpu.
constexpr std::string_view kForeign =
    "amx blas cann directml hexagon kompute metal mlx mps musa npu onednn openvino qnn rpc tpu "
    "xnnpack zendnn";

}  // namespace

bool is_foreign_backend(std::string_view word) {
    return has_word(kForeign, word) || std::ranges::any_of(kApis, [word](const ApiInfo& api) {
               return has_word(api.other_backends, word);
           });
}

}  // namespace gpuprobe::inline policy
