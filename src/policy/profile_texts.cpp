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
            // A later rule must not win while an earlier one might hold.
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

/// Names with dashes are rejected so that each fact has one spelling.
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

/// Maximum length of a message text in bytes.
constexpr std::size_t kMaxMessage = 1024;

/// The situations of docs/applications.md.
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

/// Looks up the facts of a message, including the reported failure it is about.
class SceneFacts {
public:
    explicit SceneFacts(const MessageScene& scene, const ReportedFailure* failure = nullptr)
        : scene_{scene}, failure_{failure} {}

    std::optional<std::string> operator()(std::string_view name) const {
        const auto& question = scene_.question;
        if (name == "requested")
            return question.requested;
        if (name == "known")
            return known_requests(question.profile);
        if (name == "selected")
            return scene_.decision.backend;
        if (name == "detected")
            return scene_.detected.empty() ? "None" : joined(scene_.detected, ",");
        if (name == "compiled")
            return joined(question.compiled(), ", ");
        if (name == "gpu")
            return gpu_name();
        if (name == "failed" || name == "detail")
            return of_failure(name);
        // The remaining facts are the sizes of the memory shortage.
        const auto* shortage = memory_shortage(scene_.all);
        if (!shortage)
            return std::nullopt;
        return gigabytes(shortage->detail.at(name == "available_gb" ? "have" : "need"));
    }

private:
    /// The failed backend under the application's name, or the application's explanation.
    [[nodiscard]] std::optional<std::string> of_failure(std::string_view name) const {
        if (!failure_)
            return std::nullopt;
        return name == "failed" ? scene_.question.word_for(failure_->backend)
                                : scrubbed(failure_->detail);
    }
    /// The name of the first chosen GPU.
    [[nodiscard]] std::optional<std::string> gpu_name() const {
        if (scene_.decision.gpus.empty())
            return std::nullopt;
        for (const auto& gpu : scene_.report.gpus)
            if (gpu.id == scene_.decision.gpus.front())
                return gpu.name;
        return std::nullopt;
    }

    const MessageScene& scene_;
    const ReportedFailure* failure_;
};

/// Collects the texts of the profile for each situation.
class Speaker {
public:
    explicit Speaker(const MessageScene& scene) : scene_{scene} {}

    /// Adds the profile's text for the situation. Returns whether it has one.
    bool say(std::string_view situation,
             std::string_view word = {},
             const ReportedFailure* failure = nullptr) {
        auto text =
            message_for(scene_.question.profile, situation, word, SceneFacts{scene_, failure});
        if (text)
            texts_.push_back(std::move(*text));
        return text.has_value();
    }
    [[nodiscard]] std::vector<std::string> end() && { return std::move(texts_); }

private:
    const MessageScene& scene_;
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
bool is_in_vain(const MessageScene& scene) {
    return scene.was_given_up || (scene.question.forced && !scene.decision.backend);
}

/// Messages about the request and about reported failures.
void speak_of_request(const MessageScene& scene, Speaker& speaker) {
    const auto& question = scene.question;
    const auto& word = question.requested;
    if (question.is_simulated)
        speaker.say("simulated");
    else if (scene.request.fake)
        speaker.say("fake-ignored");
    if (question.is_unknown_request)
        speaker.say("unknown-backend", word);
    // "not-built" is more precise; profiles without it fall back to "not-available".
    if (is_in_vain(scene) &&
        !(has_nothing_asked_for_built(question) && speaker.say("not-built", word)))
        speaker.say("not-available", word);
    for (const auto& failure : question.failures)
        speaker.say("reported-failed", question.word_for(failure.backend), &failure);
}

/// Messages about a successful choice.
void speak_of_choice(const MessageScene& scene, Speaker& speaker) {
    const auto& question = scene.question;
    const auto& word = *scene.decision.backend;
    const bool is_asked = question.forced && !scene.was_given_up;
    // The CPU counts as a fallback unless it was requested.
    const bool is_spare = word == question.word_for(std::string{kCpu}) && !question.asks_for(kCpu);
    if (is_asked && is_spare && speaker.say("fell-back", question.requested))
        return;
    if (!(is_asked && !is_spare && speaker.say("granted", word)))
        speaker.say("selected", word);
}

/// Messages if nothing was chosen: the first of these causes that the profile has a text for.
void speak_of_none(const MessageScene& scene, Speaker& speaker) {
    if (scene.question.built && scene.question.built->empty() && speaker.say("nothing-built"))
        return;
    if (memory_shortage(scene.all) && speaker.say("too-little-memory"))
        return;
    const bool has_gpu = std::ranges::any_of(scene.report.gpus, is_compute_gpu);
    if (!has_gpu && !scene.report.software.empty() && speaker.say("software-only"))
        return;
    if (!has_gpu && speaker.say("no-gpu"))
        return;
    speaker.say("none");
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
        return "a control character";
    return template_problem(text, [](std::string_view fact) {
        return std::ranges::find(kOwnFacts, fact) != kOwnFacts.end();
    });
}

std::optional<std::string> message_for(const Profile& profile,
                                       std::string_view situation,
                                       std::string_view word,
                                       const FactLookup& fact) {
    // A key with the word takes precedence over one without.
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
        // Without a list of requests, every backend can be requested by the application's name.
        for (const auto& backend : profile.backends) {
            const auto translation = profile.translate.find(backend);
            known.push_back(translation == profile.translate.end() ? backend : translation->second);
        }
    return joined(known, ", ");
}

std::vector<std::string> messages_of(const MessageScene& scene) {
    if (scene.question.profile.messages.empty())
        return {};
    Speaker speaker{scene};
    // A switched-off request has no other message.
    if (is_switched_off(scene.request)) {
        speaker.say("disabled");
        return std::move(speaker).end();
    }
    speak_of_request(scene, speaker);
    if (scene.decision.backend)
        speak_of_choice(scene, speaker);
    else if (!is_in_vain(scene))
        speak_of_none(scene, speaker);
    return std::move(speaker).end();
}

}  // namespace gpuprobe::inline policy
