// SPDX-License-Identifier: Apache-2.0
#include "export/verdicts.h"

#include <algorithm>

#include "base/text.h"

namespace gpuprobe::inline exports {
namespace {

bool is_letter_or_digit(char character) {
    return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9');
}

/// The remark about an invalid name.
ExportRemark unfit(const std::string& what) {
    return {.code = "unfit-name",
            .text = what + " left out: labels take up to " + std::to_string(kMaxFleetName) +
                    " of a-z, 0-9, '.', '_' and '-'"};
}

/// The variant to install, even if its name is invalid; nullopt if none can run.
std::optional<std::string> best_of(const Recommendation& answer) {
    const auto& all = answer.candidates;
    const bool is_any = !all.empty() && all.front().verdict != Verdict::Rejected;
    return is_any ? std::optional{all.front().variant} : std::nullopt;
}

/// Sorts the candidates into supported and unsupported. Returns the number of invalid names.
std::size_t sort_out(const Recommendation& answer, Verdicts& verdicts) {
    std::size_t unfit_names = 0;
    for (const auto& candidate : answer.candidates) {
        const bool is_rejected = candidate.verdict == Verdict::Rejected;
        if (is_fleet_name(candidate.variant))
            (is_rejected ? verdicts.unsupported : verdicts.supported).push_back(candidate.variant);
        else
            ++unfit_names;
    }
    return unfit_names;
}

}  // namespace

bool is_fleet_name(std::string_view name) {
    if (name.empty() || name.size() > kMaxFleetName)
        return false;
    const bool is_made_of_them = std::ranges::all_of(name, [](char character) {
        return is_letter_or_digit(character) ||
               std::string_view{"._-"}.find(character) != std::string_view::npos;
    });
    return is_made_of_them && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back());
}

std::string identifier_of(std::string_view name) {
    std::string text{name};
    std::ranges::replace_if(
        text,
        [](char character) {
            const bool is_capital = character >= 'A' && character <= 'Z';
            return !is_letter_or_digit(character) && !is_capital && character != '_';
        },
        '_');
    return text;
}

std::vector<Verdicts> verdicts_of(const ExportSubject& subject,
                                  std::vector<ExportRemark>& left_out) {
    std::vector<Verdicts> all;
    for (const auto& answer : subject.answers) {
        if (!is_fleet_name(answer.product)) {
            left_out.push_back(unfit("the product '" + scrubbed(answer.product, 64) + "' is"));
            continue;
        }
        Verdicts verdicts{.product = answer.product};
        if (const auto count = sort_out(answer, verdicts); count > 0)
            left_out.push_back(
                unfit(std::to_string(count) + " variants of " + answer.product + " are"));
        // Supported variants keep the order in which to try them.
        std::ranges::sort(verdicts.unsupported);
        if (const auto best = best_of(answer); best && is_fleet_name(*best))
            verdicts.best = best;
        all.push_back(std::move(verdicts));
    }
    return all;
}

}  // namespace gpuprobe::inline exports
