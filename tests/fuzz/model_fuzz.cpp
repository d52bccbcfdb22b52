// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "calls/requests.h"
#include "fuzz/input.h"
#include "fuzz/known_report.h"
#include "plan/model.h"

/// Reads a model from a client's request. If the request is valid, the model is planned for a known
/// machine.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const std::string text{support::text_of_input(data, size)};
    const auto request = plan_request_for(Value{}, text);
    if (!request)
        return 0;
    const auto answer = planned(*request, support::known_report());
    if (answer.gpus.empty() || !answer.need)
        std::abort();  // the machine has GPUs, and the request contains a model
    return 0;
}
