// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "base/bytes.h"
#include "base/value.h"
#include "wire/recorded_body.h"

namespace gpuprobe {

/// What was answered of late: the same question about the same generation has the same answer
/// for all to whom the same nodes are open.
class AnswerCache {
public:
    static constexpr std::size_t kMaxAnswers = 32;  ///< programs ask the same few questions
    static constexpr Bytes kMaxQuestion = kib(4);   ///< longer ones are worked out each time

    /// What identifies a question. `access`: the class of callers who share its answer.
    static std::string question(const std::string& access,
                                const std::string& consumer,
                                const Value& request);

    /// nullptr when it is not known. Answers of another generation are forgotten.
    [[nodiscard]] const bus::RecordedBody* find(std::uint64_t generation,
                                                const std::string& question);
    /// Keeps an answer of the generation that was last looked for, in place of the one that was
    /// unused for longest.
    void keep(std::string question, bus::RecordedBody answer);
    /// To be called when something changes that is not a generation.
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
