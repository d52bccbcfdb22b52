// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hip.h"

#include <array>
#include <span>
#include <string>

#include "backends/compute/stages.h"
#include "backends/hip/hip_query.h"
#include "backends/hip/hsa_query.h"

namespace gpuprobe::backends {
namespace {

struct Candidate {
    const char* name;
    Answer (*visit)(const DynamicLibrary&, Sink&, const VisitDevice&);
};

/// HSA opens no device here: what it runs would have to be compiled by the runtime above it.
Answer visit_hsa(const DynamicLibrary& library, Sink& sink, const VisitDevice&) {
    return query_hsa(library, sink);
}

/// Best first. ROCm's own packages do not always put their folder in the linker's path.
constexpr std::array<Candidate, 5> kCandidates = {{
    {"libhsa-runtime64.so.1", visit_hsa},
    {"/opt/rocm/lib/libhsa-runtime64.so.1", visit_hsa},
    {"libamdhip64.so.7", visit_hip_runtime},
    {"libamdhip64.so.6", visit_hip_runtime},
    {"libamdhip64.so.5", visit_hip_runtime},
}};

constexpr std::size_t kHsaCandidates = 2;

/// Through the libraries that may be there: the first that loads answers.
Answer ask_first(std::span<const Candidate> candidates, Sink& sink, const VisitDevice& visit) {
    sink.phase("dlopen");
    std::string problem;
    bool is_absent = true;
    for (const auto& candidate : candidates) {
        const auto library = DynamicLibrary::open(candidate.name);
        if (library)
            return candidate.visit(*library, sink, visit);
        // The first name is the one people know; one that is there and does not load says more.
        const bool is_broken = library.error().code != ErrorCode::NotFound;
        if (problem.empty() || (is_absent && is_broken))
            problem = library.error().text;
        is_absent = is_absent && !is_broken;
    }
    return Answer{.outcome = is_absent ? Outcome::Absent : Outcome::Failed, .note = problem};
}

}  // namespace

Answer visit_rocm(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    return ask_first(kCandidates, sink, visit);
}

Answer visit_hip(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    return ask_first(std::span{kCandidates}.subspan(kHsaCandidates), sink, visit);
}

}  // namespace gpuprobe::backends
