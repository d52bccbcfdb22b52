// SPDX-License-Identifier: Apache-2.0
#include "policy/profile_texts.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "policy/fact.h"
#include "policy/profile.h"
#include "policy/term.h"

namespace gpuprobe::inline policy {
namespace {

std::string with_dashes(std::string_view name) {
    std::string text{name};
    std::ranges::replace(text, '_', '-');
    return text;
}

/// The value of a fact in an answer: a selector fact of the chosen GPUs, or a machine fact as a
/// comma-separated list.
std::optional<std::string> answer_fact(std::string_view name,
                                       const Facts& facts,
                                       const Selection& selection) {
    if (is_selector_fact(name))
        return selection.gpus.empty() ? std::nullopt : selector_fact(name, selection);
    const auto* row = find_fact(with_dashes(name));
    const auto words = row ? words_of(facts.at(row->id)) : std::vector<std::string>{};
    if (words.empty())
        return std::nullopt;
    std::string list;
    for (const auto& word : words)
        list += (list.empty() ? "" : ",") + word;
    return list;
}

/// The value of the first rule whose predicates hold.
std::optional<std::string> answer_from(const std::vector<AnswerRule>& rules,
                                       const Facts& facts,
                                       const Selection& selection) {
    for (const auto& rule : rules)
        for (const auto& [text, predicates] : rule) {
            const auto truth = test_all(predicates, facts);
            // A later rule must not be used while an earlier rule might hold.
            if (truth == Truth::Unknown)
                return std::nullopt;
            if (truth == Truth::True)
                return filled_template(text, [&](std::string_view name) {
                    return answer_fact(name, facts, selection);
                });
        }
    return std::nullopt;
}

}  // namespace

/// Names with dashes are rejected so that each fact has only one spelling.
bool is_answer_fact(std::string_view name) {
    return is_selector_fact(name) ||
           (name.find('-') == std::string_view::npos && find_fact(with_dashes(name)));
}

std::map<std::string, std::string> answers_of(const Profile& profile,
                                              const Facts& facts,
                                              const Selection& selection) {
    std::map<std::string, std::string> answers;
    for (const auto& [name, rules] : profile.answers)
        if (auto answer = answer_from(rules, facts, selection))
            answers.emplace(name, std::move(*answer));
    return answers;
}

namespace {

/// Maximum length of a message in bytes.
constexpr std::size_t kMaxMessage = 1024;

/// The situations that docs/data-files.md lists.
constexpr auto kSituations = std::to_array<std::string_view>(
    {"disabled", "simulated", "fake-ignored", "fake-forbidden", "unknown-backend", "not-built",
     "not-available", "fell-back", "reported-failed", "granted", "selected", "nothing-built",
     "too-little-memory", "software-only", "no-gpu", "none"});

/// The facts that a message may contain.
constexpr auto kOwnFacts =
    std::to_array<std::string_view>({"requested", "known", "selected", "detected", "compiled",
                                     "failed", "detail", "gpu", "available_gb", "required_gb"});

/// Formats bytes in units of 10⁹ bytes with one decimal, "7.5". Rounds down so that a size just
/// below a minimum isn't shown as reaching it.
std::optional<std::string> gigabytes(const Value& bytes) {
    const auto count = bytes.as_unsigned();
    if (!count)
        return std::nullopt;
    const auto tenths = *count / 100'000'000;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

/// The reason of the first candidate that is rejected only for lack of memory.
const Reason* memory_shortage(const std::vector<Judged>& all) {
    for (const auto& judged : all) {
        const auto& reasons = judged.candidate.reasons;
        if (judged.candidate.verdict == Verdict::Rejected && !reasons.empty() &&
            std::ranges::all_of(reasons,
                                [](const Reason& why) { return why.is("too-little-memory"); }))
            return &reasons.front();
    }
    return nullptr;
}

bool is_compute_gpu(const Gpu& gpu) {
    return gpu.kind != GpuKind::DisplayOnly;
}

/// Looks up the facts of a message, including the reported failure that the message is about.
class MessageFacts {
public:
    explicit MessageFacts(const MessageContext& context, const ReportedFailure* failure = nullptr)
        : context_{context}, failure_{failure} {}

    std::optional<std::string> operator()(std::string_view name) const {
        const auto& question = context_.question;
        if (name == "requested")
            return question.requested;
        if (name == "known")
            return known_requests(question.profile);
        if (name == "selected")
            return context_.decision.backend;
        if (name == "detected")
            return context_.detected.empty() ? "None" : joined(context_.detected, ",");
        if (name == "compiled")
            return joined(question.compiled(), ", ");
        if (name == "gpu")
            return gpu_name();
        if (name == "failed" || name == "detail")
            return of_failure(name);
        // The remaining facts are sizes that describe a lack of memory.
        const auto* shortage = memory_shortage(context_.all);
        if (!shortage)
            return std::nullopt;
        return gigabytes(shortage->detail.at(name == "available_gb" ? "have" : "need"));
    }

private:
    /// The application's name for the failed backend, or the application's explanation of the
    /// failure.
    [[nodiscard]] std::optional<std::string> of_failure(std::string_view name) const {
        if (!failure_)
            return std::nullopt;
        return name == "failed" ? context_.question.word_for(failure_->backend)
                                : scrubbed(failure_->detail);
    }
    /// The name of the first chosen GPU.
    [[nodiscard]] std::optional<std::string> gpu_name() const {
        if (context_.decision.gpus.empty())
            return std::nullopt;
        for (const auto& gpu : context_.report.gpus)
            if (gpu.id == context_.decision.gpus.front())
                return gpu.name;
        return std::nullopt;
    }

    const MessageContext& context_;
    const ReportedFailure* failure_;
};

/// Collects the profile's messages for each situation.
class MessageWriter {
public:
    explicit MessageWriter(const MessageContext& context) : context_{context} {}

    /// Adds the profile's message for the situation. Returns whether the profile has a message for
    /// the situation.
    bool write(std::string_view situation,
               std::string_view word = {},
               const ReportedFailure* failure = nullptr) {
        auto text = message_for(context_.question.profile, situation, word,
                                MessageFacts{context_, failure});
        if (text)
            texts_.push_back(std::move(*text));
        return text.has_value();
    }
    [[nodiscard]] std::vector<std::string> end() && { return std::move(texts_); }

private:
    const MessageContext& context_;
    std::vector<std::string> texts_ = {};
};

/// Whether the request asks for backends and the application was built with none of them.
bool has_nothing_asked_for_built(const SelectQuestion& question) {
    const auto& built = question.built;
    return built && question.forced && !question.forced->empty() &&
           std::ranges::none_of(*question.forced,
                                [&](const auto& backend) { return built->contains(backend); });
}

/// Whether the request could not be satisfied.
bool is_in_vain(const MessageContext& context) {
    return context.was_given_up || (context.question.forced && !context.decision.backend);
}

/// Writes messages about the request and about reported failures.
void write_request(const MessageContext& context, MessageWriter& writer) {
    const auto& question = context.question;
    const auto& word = question.requested;
    if (question.is_simulated)
        writer.write("simulated");
    else if (context.request.fake)
        writer.write("fake-ignored");
    if (question.is_unknown_request)
        writer.write("unknown-backend", word);
    // "not-built" is more precise; profiles without this message fall back to "not-available".
    if (is_in_vain(context) &&
        !(has_nothing_asked_for_built(question) && writer.write("not-built", word)))
        writer.write("not-available", word);
    for (const auto& failure : question.failures)
        writer.write("reported-failed", question.word_for(failure.backend), &failure);
}

/// Writes messages about a successful choice.
void write_choice(const MessageContext& context, MessageWriter& writer) {
    const auto& question = context.question;
    const auto& word = *context.decision.backend;
    const bool is_asked = question.forced && !context.was_given_up;
    // The CPU counts as a fallback unless it was requested.
    const bool is_spare = word == question.word_for(std::string{kCpu}) && !question.asks_for(kCpu);
    if (is_asked && is_spare && writer.write("fell-back", question.requested))
        return;
    if (!(is_asked && !is_spare && writer.write("granted", word)))
        writer.write("selected", word);
}

/// Writes messages if nothing was chosen. The message is about the first cause below for which the
/// profile has a message.
void write_none(const MessageContext& context, MessageWriter& writer) {
    if (context.question.built && context.question.built->empty() && writer.write("nothing-built"))
        return;
    if (memory_shortage(context.all) && writer.write("too-little-memory"))
        return;
    const bool has_gpu = std::ranges::any_of(context.report.gpus, is_compute_gpu);
    if (!has_gpu && !context.report.software.empty() && writer.write("software-only"))
        return;
    if (!has_gpu && writer.write("no-gpu"))
        return;
    writer.write("none");
}

}  // namespace

std::optional<std::string> message_problem(std::string_view key, std::string_view text) {
    const auto situation = key.substr(0, key.find(':'));
    if (std::ranges::find(kSituations, situation) == kSituations.end())
        return "no such situation";
    if (text.empty() || text.size() > kMaxMessage)
        return "expected 1 to 1024 bytes";
    // Line feeds are allowed; other control characters could change the user's terminal.
    const auto is_control = [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == '\x7f'; };
    if (std::ranges::any_of(text, is_control))
        return "has a control character";
    return template_problem(text, [](std::string_view fact) {
        return std::ranges::find(kOwnFacts, fact) != kOwnFacts.end();
    });
}

std::optional<std::string> message_for(const Profile& profile,
                                       std::string_view situation,
                                       std::string_view word,
                                       const WordLookup& fact) {
    // A key with the backend word takes precedence over a key without a word.
    auto found = profile.messages.find(std::string{situation} + ":" + std::string{word});
    if (found == profile.messages.end())
        found = profile.messages.find(std::string{situation});
    if (found == profile.messages.end())
        return std::nullopt;
    return filled_template(found->second, fact);
}

std::string known_requests(const Profile& profile) {
    std::vector<std::string> known;
    if (profile.requests)
        for (const auto& [word, backends] : *profile.requests)
            known.push_back(word);
    else
        // If the profile has no `requests`, every backend can be requested by the application's
        // name.
        for (const auto& backend : profile.backends) {
            const auto translation = profile.translate.find(backend);
            known.push_back(translation == profile.translate.end() ? backend : translation->second);
        }
    return joined(known, ", ");
}

std::vector<std::string> messages_of(const MessageContext& context) {
    if (context.question.profile.messages.empty())
        return {};
    MessageWriter writer{context};
    // If the request switches GPUs off, only this message is written.
    if (is_switched_off(context.request)) {
        writer.write("disabled");
        return std::move(writer).end();
    }
    write_request(context, writer);
    if (context.decision.backend)
        write_choice(context, writer);
    else if (!is_in_vain(context))
        write_none(context, writer);
    return std::move(writer).end();
}

}  // namespace gpuprobe::inline policy
