// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hip.h"

#include <array>
#include <string>

#include "backends/hip/hip_query.h"
#include "backends/hip/hsa_query.h"

namespace gpuprobe {
namespace {

struct Candidate {
    const char* name;
    Answer (*query)(const DynamicLibrary&, Sink&);
};

/// Best first. ROCm's own packages do not always put their folder in the linker's path.
constexpr std::array<Candidate, 5> kCandidates = {{
    {"libhsa-runtime64.so.1", query_hsa},
    {"/opt/rocm/lib/libhsa-runtime64.so.1", query_hsa},
    {"libamdhip64.so.7", query_hip_runtime},
    {"libamdhip64.so.6", query_hip_runtime},
    {"libamdhip64.so.5", query_hip_runtime},
}};

}  // namespace

Answer query_hip(const ProbeTarget&, Sink& sink) {
    sink.phase("dlopen");
    std::string problem;
    bool is_absent = true;
    for (const auto& candidate : kCandidates) {
        const auto library = DynamicLibrary::open(candidate.name);
        if (library)
            return candidate.query(*library, sink);
        // The first name is the one people know; one that is there and does not load says more.
        const bool is_broken = library.error().code != ErrorCode::NotFound;
        if (problem.empty() || (is_absent && is_broken))
            problem = library.error().text;
        is_absent = is_absent && !is_broken;
    }
    return Answer{.outcome = is_absent ? Outcome::Absent : Outcome::Failed, .note = problem};
}

}  // namespace gpuprobe
