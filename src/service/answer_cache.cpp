// SPDX-License-Identifier: Apache-2.0
#include "service/answer_cache.h"

#include <algorithm>

#include "base/value_json.h"

namespace gpuprobe {

std::string AnswerCache::question(const std::string& access,
                                  const std::string& consumer,
                                  const Value& request) {
    auto question = access + '\0' + consumer + '\0';
    const auto* members = request.as_object();
    if (!members || !members->empty())  // most are: JSON of nothing is dear beside a known answer
        question += json_line(request);
    return question;
}

const bus::RecordedBody* AnswerCache::find(std::uint64_t generation, const std::string& question) {
    if (generation != generation_)
        entries_.clear();
    generation_ = generation;
    const auto known = std::ranges::find(entries_, question, &Entry::question);
    if (known == entries_.end())
        return nullptr;
    entries_.splice(entries_.begin(), entries_, known);
    return &known->answer;
}

void AnswerCache::keep(std::string question, bus::RecordedBody answer) {
    if (question.size() > kMaxQuestion.count)
        return;
    if (entries_.size() >= kMaxAnswers)
        entries_.pop_back();
    entries_.push_front(Entry{.question = std::move(question), .answer = std::move(answer)});
}

}  // namespace gpuprobe
