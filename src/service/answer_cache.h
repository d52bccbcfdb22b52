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

/// A cache of recent answers. Within one generation of the report, the same question has the same
/// answer for all callers who may open the same device nodes.
template <class Answer>
class AnswerCache {
public:
    static constexpr std::size_t kMaxAnswers = 32;  ///< enough: programs ask the same few questions
    static constexpr Bytes kMaxQuestion = kib(4);   ///< answers to longer questions are not cached

    AnswerCache() = default;
    /// `dropped`: called with each answer that is removed.
    explicit AnswerCache(std::function<void(const Answer&)> dropped)
        : dropped_{std::move(dropped)} {}

    /// The cached answer; nullptr if there is none. Drops all answers of other generations. The
    /// question must begin with the class of callers who share its answer.
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
    /// Adds an answer for the generation passed to the last find(). A full cache drops the least
    /// recently used answer.
    void keep(std::string question, Answer answer) {
        if (question.size() > kMaxQuestion.count)
            return;
        if (entries_.size() >= kMaxAnswers) {
            drop(entries_.back());
            entries_.pop_back();
        }
        entries_.push_front(Entry{.question = std::move(question), .answer = std::move(answer)});
    }
    /// Drops all answers. Call this when something changes without a new generation.
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
    std::list<Entry> entries_ = {};  ///< most recently used first
};

/// The cache key of a question on the bus. `access`: the class of callers who share its answer.
std::string question_of(const std::string& access,
                        const std::string& consumer,
                        const Value& request);

}  // namespace gpuprobe::inline service
