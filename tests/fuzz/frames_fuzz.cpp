// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "probe/worker_answer.h"

/// Reads a worker's stream in pieces. The first byte of the input is the size of a piece.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    if (size == 0)
        return 0;
    std::string_view rest{reinterpret_cast<const char*>(data) + 1, size - 1};
    const std::size_t piece = 1 + data[0];
    Transcript transcript;
    while (!rest.empty()) {
        transcript.add(rest.substr(0, piece));
        rest.remove_prefix(std::min(piece, rest.size()));
    }
    const auto result = transcript.conclude({.api = "vulkan"}, {.exit = WorkerExit{.code = 0}});
    // Only a complete stream is an answer.
    if (result.outcome == Outcome::Answered && !transcript.is_complete())
        std::abort();
    // The result can be written and read again.
    if (!probe_result_from(value_of(result)))
        std::abort();
    return 0;
}
