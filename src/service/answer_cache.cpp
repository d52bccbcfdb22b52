// SPDX-License-Identifier: Apache-2.0
#include "service/answer_cache.h"

#include "base/value.h"

namespace gpuprobe::inline service {

std::string question_of(const std::string& access,
                        const std::string& consumer,
                        const Value& request) {
    auto question = access + '\0' + consumer + '\0';
    const auto* members = request.as_object();
    if (!members || !members->empty())  // most are: JSON of nothing is dear beside a known answer
        question += json_line(request);
    return question;
}

}  // namespace gpuprobe::inline service
