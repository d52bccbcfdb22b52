// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "base/bytes.h"
#include "base/value.h"
#include "wire/recorded_body.h"

namespace gpuprobe {

/// Recent answers. The same question about the same generation has the same answer for all callers
/// who may open the same nodes.
class AnswerCache {
public:
    static constexpr std::size_t kMaxAnswers = 32;  ///< because programs ask the same few questions
    static constexpr Bytes kMaxQuestion = kib(4);   ///< the answers to longer ones are not kept

    /// What identifies a question. `access`: the class of callers who share its answer.
    static std::string question(const std::string& access,
                                const std::string& consumer,
                                const Value& request);

    /// nullptr when it is not known. Answers of another generation are forgotten.
    [[nodiscard]] const bus::RecordedBody* find(std::uint64_t generation,
                                                const std::string& question);
    /// Keeps an answer about the generation of the last find(). A full cache drops the answer that
    /// was not used for the longest time.
    void keep(std::string question, bus::RecordedBody answer);
    /// To be called when something changes without a new generation.
    void clear() { entries_.clear(); }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string question = {};
        bus::RecordedBody answer = {};
    };

    std::uint64_t generation_ = 0;
    std::list<Entry> entries_ = {};  ///< last used first
};

}  // namespace gpuprobe
