// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "base/units.h"
#include "base/value.h"

namespace gpuprobe::inline service {

/// Recent answers. The same question about the same generation has the same answer for all callers
/// who may open the same nodes.
template <class Answer>
class AnswerCache {
public:
    static constexpr std::size_t kMaxAnswers = 32;  ///< because programs ask the same few questions
    static constexpr Bytes kMaxQuestion = kib(4);   ///< the answers to longer ones are not kept

    AnswerCache() = default;
    /// `dropped`: called with each answer that goes.
    explicit AnswerCache(std::function<void(const Answer&)> dropped)
        : dropped_{std::move(dropped)} {}

    /// nullptr when it is not known. Answers of another generation are forgotten. The question
    /// begins with the class of callers who share its answer.
    [[nodiscard]] const Answer* find(std::uint64_t generation, const std::string& question) {
        if (generation != generation_)
            clear();
        generation_ = generation;
        const auto known = std::ranges::find(entries_, question, &Entry::question);
        if (known == entries_.end())
            return nullptr;
        entries_.splice(entries_.begin(), entries_, known);
        return &known->answer;
    }
    /// Keeps an answer about the generation of the last find(). A full cache drops the answer that
    /// was not used for the longest time.
    void keep(std::string question, Answer answer) {
        if (question.size() > kMaxQuestion.count)
            return;
        if (entries_.size() >= kMaxAnswers) {
            drop(entries_.back());
            entries_.pop_back();
        }
        entries_.push_front(Entry{.question = std::move(question), .answer = std::move(answer)});
    }
    /// To be called when something changes without a new generation.
    void clear() {
        for (const auto& entry : entries_)
            drop(entry);
        entries_.clear();
    }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string question = {};
        Answer answer = {};
    };

    void drop(const Entry& entry) {
        if (dropped_)
            dropped_(entry.answer);
    }

    std::function<void(const Answer&)> dropped_ = {};
    std::uint64_t generation_ = 0;
    std::list<Entry> entries_ = {};  ///< last used first
};

/// What identifies a question on the bus. `access`: the class of callers who share its answer.
std::string question_of(const std::string& access,
                        const std::string& consumer,
                        const Value& request);

}  // namespace gpuprobe::inline service
