// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "fakes/worker/scripted_worker.h"

/// The workers of a machine with one NVIDIA card. A test program becomes such a worker if its first
/// argument names an API. All workers answer correctly except the worker of the API in
/// $GPUPROBE_CULPRIT, which follows $GPUPROBE_SCRIPT.
namespace gpuprobe::machine_worker {

constexpr const char* kCulprit = "GPUPROBE_CULPRIT";
constexpr const char* kScript = "GPUPROBE_SCRIPT";
/// Well-formed frames with values that no device has.
constexpr std::string_view kImpossible = "impossible";

constexpr Bytes kTotal = mib(143'771);

inline DeviceFacts card() {
    return DeviceFacts{
        .index = 0,
        .name = "NVIDIA H200",
        .vendor_id = "10de",
        .device_id = "2335",
        .pci = PciAddress{.bus = 0, .device = 6},
        .uuid = "GPU-7e611089-1272-699d-8985-ab84fef4311e",
        .type = DeviceType::Discrete,
        .memory = FactMemory{.total = kTotal, .free = mib(140'000)},
    };
}

inline DeviceFacts impossible_card() {
    auto facts = card();
    facts.index = std::numeric_limits<std::uint32_t>::max();
    facts.name = std::string(100'000, '\x1b');
    facts.uuid = "ffffffff-ffff-ffff-ffff-ffffffffffff";
    facts.memory = FactMemory{.total = Bytes{std::numeric_limits<std::uint64_t>::max()},
                              .free = Bytes{std::numeric_limits<std::uint64_t>::max() - 1}};
    facts.extra["compute_capability"] = Value{Value::Object{{"major", -1}}};
    facts.extra["mig_devices"] = "none";
    facts.extra["queues"] = Value{Value::Array{Value{1}, Value{}}};
    return facts;
}

inline void tell(std::string_view api, const DeviceFacts& facts) {
    FrameWriter writer;
    scripted::write_frames(writer.phase("enumerate"));
    scripted::write_frames(writer.runtime(Value{Value::Object{{"version", api}}}));
    scripted::write_frames(writer.device(facts));
    scripted::write_frames(writer.done(Outcome::Answered, std::nullopt, {}));
}

inline void answer_for(std::string_view api) {
    constexpr std::array<std::string_view, 4> kInstalled{"cuda", "nvml", "opencl", "vulkan"};
    if (std::find(kInstalled.begin(), kInstalled.end(), api) != kInstalled.end())
        return tell(api, card());
    scripted::write_frames(FrameWriter{}.done(Outcome::Absent, std::nullopt, {}));
}

/// Returns the exit status. Some scripts never return.
inline int run(char** argv) {
    const std::string_view api = argv[1];
    const char* culprit = std::getenv(kCulprit);
    if (!culprit || api != culprit) {
        answer_for(api);
        return 0;
    }
    char* script = std::getenv(kScript);
    if (script == kImpossible) {
        tell(api, impossible_card());
        return 0;
    }
    std::array<char*, 3> arguments{argv[0], script, nullptr};
    return scripted::run(2, arguments.data());
}

}  // namespace gpuprobe::machine_worker
