// SPDX-License-Identifier: Apache-2.0
#include "policy/backend_words.h"

#include <algorithm>
#include <array>

namespace gpuprobe {
namespace {

// Source: the backend folders of ggml and the device names of PyTorch, ONNX Runtime and wgpu.
constexpr std::array<std::string_view, 23> kForeign{
    "amx",        "blas", "cann",     "directml", "hexagon", "hip",    "kompute", "metal",
    "level-zero", "mlx",  "mps",      "musa",     "npu",     "oneapi", "onednn",  "openvino",
    "qnn",        "rpc",  "tensorrt", "tpu",      "xnnpack", "xpu",    "zendnn",
};

}  // namespace

bool is_foreign_backend(std::string_view word) {
    return std::ranges::find(kForeign, word) != kForeign.end();
}

}  // namespace gpuprobe
