// SPDX-License-Identifier: Apache-2.0
#include "service/answer_cache.h"

#include "base/value.h"

namespace gpuprobe::inline service {

std::string question_of(const std::string& access,
                        const std::string& consumer,
                        const Value& request) {
    auto question = access + '\0' + consumer + '\0';
    const auto* members = request.as_object();
    // Most requests are empty. Encoding even an empty request costs more than a cache hit.
    if (!members || !members->empty())
        question += json_line(request);
    return question;
}

}  // namespace gpuprobe::inline service
