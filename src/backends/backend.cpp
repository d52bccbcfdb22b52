// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.h"

#include <array>

#include "backends/compute/stages.h"
#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/drm/drm.h"
#include "backends/hip/hip.h"
#ifdef GPUPROBE_LEVEL_ZERO
#include "backends/level_zero/level_zero.h"
#endif
#include "backends/nvcodec/nvcodec.h"
#include "backends/nvml/nvml.h"
#include "backends/opencl/opencl.h"
#include "backends/pci/pci.h"
#include "backends/v4l2/v4l2.h"
#include "backends/vaapi/vaapi.h"
#include "backends/vulkan/vulkan.h"
#include "report/api_table.h"

namespace gpuprobe::backends {

Answer without_devices(std::string note, Value::Object detail) {
    return Answer{.outcome = Outcome::Absent,
                  .note = std::move(note),
                  .reasons = {because("no-device", std::move(detail))}};
}

Refusal refused_call(std::string_view reason,
                     std::string_view call,
                     std::string_view words,
                     std::int64_t code) {
    return Refusal{.code = std::string{reason},
                   .note = std::string{call} + ": " + std::string{words},
                   .detail = Value{Value::Object{{"call", Value{call}}, {"code", Value{code}}}}};
}

Answer answer_of(const Refusal& refusal, Outcome outcome) {
    return Answer{.outcome = outcome,
                  .note = refusal.note,
                  .reasons = {Reason{.code = refusal.code, .detail = refusal.detail}}};
}

namespace {

/// The name of the API. The function is consteval, so that a backend whose API has no row in
/// report/api_table.h does not compile.
consteval std::string_view word_of(Api api) {
    return info_of(api).word;
}

#ifndef GPUPROBE_LEVEL_ZERO
/// Replaces Level Zero's query if the headers of Level Zero were missing at build time (see
/// CMakeLists.txt).
Answer query_nothing(const ProbeTarget&, Sink&) {
    return {.outcome = Outcome::Absent, .note = "this build has no support for Level Zero"};
}
#endif

}  // namespace

std::span<const Backend> registry() {
    // The rows are sorted by name. ROCm's query prefers the HSA runtime, but only HIP can compile
    // kernels.
    static constexpr std::array kBackends = {
        Backend{.api = word_of(Api::Cpu), .compute = visit_cpu, .device = "index:0"},
        Backend{
            .api = word_of(Api::Cuda), .query = query_devices<visit_cuda>, .compute = visit_cuda},
        Backend{.api = word_of(Api::Drm), .query = query_drm},
        Backend{.api = word_of(Api::Hip), .query = query_devices<visit_rocm>, .compute = visit_hip},
#ifdef GPUPROBE_LEVEL_ZERO
        Backend{.api = word_of(Api::LevelZero),
                .query = query_devices<visit_level_zero>,
                .compute = visit_level_zero},
        Backend{.api = word_of(Api::LevelZeroSysman), .query = query_level_zero_sysman},
#else
        Backend{.api = word_of(Api::LevelZero), .query = query_nothing},
        Backend{.api = word_of(Api::LevelZeroSysman), .query = query_nothing},
#endif
        Backend{.api = word_of(Api::NvCodec), .query = query_nvcodec},
        Backend{.api = word_of(Api::Nvml), .query = query_nvml, .processes = list_nvml_processes},
        Backend{.api = word_of(Api::OpenCl),
                .query = query_devices<visit_opencl>,
                .compute = visit_opencl},
        Backend{.api = word_of(Api::Pci), .query = query_pci},
        Backend{.api = word_of(Api::V4l2), .query = query_v4l2},
        Backend{.api = word_of(Api::Vaapi), .query = query_vaapi},
        Backend{.api = word_of(Api::Vulkan),
                .query = query_devices<visit_vulkan>,
                .compute = visit_vulkan},
    };
    return kBackends;
}

}  // namespace gpuprobe::backends
