// SPDX-License-Identifier: Apache-2.0
#include "explain/reason_words.h"

#include <utility>

#include "report/api_table.h"

namespace gpuprobe::inline explain {
namespace {

/// The first member of the detail that consists only of an absolute path. A sentence that begins
/// with a path isn't a path.
std::optional<std::string> path_in(const Value& detail) {
    if (const auto* members = detail.as_object())
        for (const auto& member : *members)
            if (const auto* text = member.value.as_string();
                text && text->starts_with('/') && text->find(' ') == std::string::npos)
                return *text;
    return std::nullopt;
}

/// The id of a GPU that the detail of a reason names. A string with a colon is a GPU's id, because
/// only ids of GPUs contain a colon.
std::optional<std::string> gpu_in(const Value& detail) {
    for (const char* key : {"gpu", "where"})
        if (const auto* id = detail.at(key).as_string(); id && id->find(':') != std::string::npos)
            return *id;
    return std::nullopt;
}

std::optional<std::string> unless_empty(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional{text};
}

}  // namespace

void ReasonWriter::Visitor::note(std::string_view key, const std::optional<std::string>& member) {
    if (key == "gpu")
        owner_.gpu = member.value_or("");
    else if (key == "backend")
        owner_.backend = member.value_or("");
}

void ReasonWriter::drop_useless_fixes(std::vector<Reason>& reasons) {
    for (auto& reason : reasons)
        if (reason.words && reason.words->fix && !is_worth_a_fix(reason, reasons)) {
            auto words = *reason.words;
            words.fix.reset();
            words.commands.clear();
            reason.words = std::make_shared<const ReasonWords>(std::move(words));
        }
}

const ReasonPlace& ReasonWriter::place() {
    if (!place_)
        place_ = place_of_();
    return *place_;
}

std::shared_ptr<const ReasonWords> ReasonWriter::words_of(const Reason& reason,
                                                          const Owner& owner) {
    auto& known = known_[{Reason{.code = reason.code, .detail = reason.detail}, owner}];
    if (known)
        return known;
    auto place = this->place();
    // The backend of a decision is the chosen backend, but the warnings in the decision may be
    // about another backend. Therefore, the backend is used only together with a GPU.
    if (!owner.gpu.empty()) {
        place.gpu = owner.gpu;
        place.api = api_below(owner.backend);
    }
    auto why = explained(reason, place);
    const auto* api = reason.detail.at("api").as_string();
    known = std::make_shared<const ReasonWords>(ReasonWords{
        .text = std::move(why.text),
        .fix = std::move(why.fix),
        .commands = std::move(why.commands),
        .subject = {.gpu = place.gpu.empty() ? gpu_in(reason.detail) : std::optional{place.gpu},
                    .api = place.api.empty() && api ? std::optional{*api} : unless_empty(place.api),
                    .path = path_in(reason.detail)}});
    return known;
}

}  // namespace gpuprobe::inline explain
