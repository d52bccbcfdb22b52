// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

/// The names of backends, ours and those that only consumers know.
namespace gpuprobe {

constexpr std::string_view kCpu = "cpu";

/// The backends that a profile may order, and the API that each one stands on.
struct BackendWord {
    std::string_view name = {};
    std::string_view api = {};  ///< as in Report::runtimes; empty for the CPU
};
constexpr std::array<BackendWord, 7> kBackends{{{"cuda", "cuda"},
                                                {"rocm", "hip"},
                                                {"sycl", "level_zero"},
                                                {"vulkan", "vulkan"},
                                                {"opencl", "opencl"},
                                                {"webgpu", "vulkan"},
                                                {kCpu, ""}}};

bool is_backend(std::string_view word);
/// The API below a backend; empty for the CPU and for a word that is no backend.
std::string_view api_of(std::string_view backend);

/// Whether the word names a backend that inference runtimes have and this program never selects
/// (of another system, or under a name that only a profile's `translate` gives a meaning): a caller
/// may say that it is compiled in.
bool is_foreign_backend(std::string_view word);

}  // namespace gpuprobe
