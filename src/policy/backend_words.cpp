// SPDX-License-Identifier: Apache-2.0
#include "policy/backend_words.h"

#include <algorithm>

namespace gpuprobe {
namespace {

// Source: the backend folders of ggml and the device names of PyTorch, ONNX Runtime and wgpu.
constexpr std::array<std::string_view, 23> kForeign{
    "amx",        "blas", "cann",     "directml", "hexagon", "hip",    "kompute", "metal",
    "level-zero", "mlx",  "mps",      "musa",     "npu",     "oneapi", "onednn",  "openvino",
    "qnn",        "rpc",  "tensorrt", "tpu",      "xnnpack", "xpu",    "zendnn",
};

const BackendWord* find(std::string_view word) {
    const auto* found = std::ranges::find(kBackends, word, &BackendWord::name);
    return found == kBackends.end() ? nullptr : found;
}

}  // namespace

bool is_backend(std::string_view word) {
    return find(word) != nullptr;
}

std::string_view api_of(std::string_view backend) {
    const auto* found = find(backend);
    return found ? found->api : std::string_view{};
}

bool is_foreign_backend(std::string_view word) {
    return std::ranges::find(kForeign, word) != kForeign.end();
}

}  // namespace gpuprobe
