// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/fact.h"
#include "policy/known_words.h"
#include "policy/term.h"
#include "report/video.h"

/// Parses terms, predicates and the conditions of container images.

namespace gpuprobe::inline policy {
namespace {

/// A sign and its relation.
struct Sign {
    std::string_view text;
    Relation relation;
};
constexpr auto kSigns = std::to_array<Sign>({{"=", Relation::Equals},
                                             {"!=", Relation::Differs},
                                             {"<", Relation::Less},
                                             {"<=", Relation::AtMost},
                                             {">", Relation::More},
                                             {">=", Relation::AtLeast}});

Error refused(std::string text) {
    return Error{ErrorCode::InvalidRequest, std::move(text)};
}

/// Reads words separated by `|`. Only libraries that gpuprobe searches for are accepted.
Result<TermNeed> words_from(const TermText& text) {
    std::vector<std::string> words;
    for (const auto alternative : split(text.value, '|')) {
        const auto word = trimmed(alternative);
        if (word.empty())
            return refused(std::string{text.name} + ": an empty word");
        if (text.name == "library" && !is_listed_library(word))
            return refused(scrubbed(word, 64) + ": gpuprobe does not search for this library");
        words.push_back(text.name == "library" ? std::string{word} : lower_case(word));
    }
    return TermNeed{std::move(words)};
}

/// Parses the right-hand side according to the fact's type.
Result<TermNeed> need_from(const TermText& text, FactForm type) {
    const std::string fact{text.name};
    if (type == FactForm::Version) {
        const auto version = parse_text(text.value, std::type_identity<Version>{});
        return version ? Result<TermNeed>{*version}
                       : refused(fact + ": expected a version like 1.2");
    }
    if (type == FactForm::Size) {
        const auto size = size_from_text(text.value);
        return size ? Result<TermNeed>{*size} : refused(fact + ": expected a size like 8GiB");
    }
    if (type != FactForm::Flag)
        return words_from(text);
    if (text.sign != "=" || (text.value != "true" && text.value != "false"))
        return refused(fact + ": expected =true, =false or nothing");
    return TermNeed{text.value == "true"};
}

}  // namespace

std::size_t find_outside_brackets(std::string_view text, std::string_view characters) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        // Filters can be nested: "a[b[c=d].e=f]".
        depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
        if (depth == 0 && characters.find(text[i]) != std::string_view::npos)
            return i;
    }
    return text.size();
}

std::vector<std::string_view> split_at_word(std::string_view text, std::string_view word) {
    std::vector<std::string_view> found;
    for (;;) {
        const auto at = text.find(word);
        found.push_back(trimmed(text.substr(0, at)));
        if (at == std::string_view::npos)
            return found;
        text.remove_prefix(at + word.size());
    }
}

TermText term_text(std::string_view text) {
    text = trimmed(text);
    // Operators inside a filter belong to the term in the filter.
    const auto begin = find_outside_brackets(text, "<>=!");
    const auto end = std::min(text.find_first_not_of("<>=!", begin), text.size());
    return {.text = text,
            .name = trimmed(text.substr(0, begin)),
            .sign = text.substr(begin, end - begin),
            .value = trimmed(text.substr(end))};
}

AlternativeTexts alternatives_of(std::string_view text) {
    AlternativeTexts alternatives;
    const auto pieces = split_at_word(text, " or ");
    // "unknown" is a keyword only at the end of a list of alternatives.
    alternatives.takes_doubt = pieces.size() > 1 && pieces.back() == "unknown";
    for (const auto piece : pieces)
        if (!alternatives.takes_doubt || piece.data() != pieces.back().data())
            alternatives.terms.push_back(term_text(piece));
    return alternatives;
}

Result<Relation> relation_of(const TermText& text) {
    const auto* sign = std::ranges::find(kSigns, text.sign, &Sign::text);
    if (sign == kSigns.end())
        return refused(scrubbed(text.name, 64) + ": expected =, !=, <, <=, > or >=");
    return sign->relation;
}

namespace {

/// The error for a fact that no term may name, with a list of facts that have similar names.
Error no_such_fact(std::string_view name) {
    std::vector<std::string> known;
    for (const auto& row : fact_rows())
        if (row.is_nameable)
            known.emplace_back(row.key);
    const auto meant = did_you_mean(name, known);
    return refused(scrubbed(name, 64) + ": no such fact" + (meant.empty() ? "" : "; " + meant));
}

}  // namespace

Result<Term> fact_term(const TermText& text) {
    const auto* row = find_fact(text.name);
    if (!row)
        return no_such_fact(text.name);
    Term term{.fact = row->id, .relation = Relation::Equals, .name = std::string{text.text}};
    // A flag without an operator means "=true".
    if (row->type == FactForm::Flag && text.sign.empty()) {
        term.need = true;
        return term;
    }
    term.relation = TRY(relation_of(text));
    if (row->type == FactForm::Word || row->type == FactForm::Words) {
        if (term.relation != Relation::Equals && term.relation != Relation::Differs)
            return refused(std::string{text.name} + ": compare this fact only with = or !=");
        // For facts that are words, "=" and "!=" accept a list of alternatives.
        term.relation = term.relation == Relation::Equals ? Relation::Is : Relation::IsNot;
    }
    term.need = TRY(need_from(text, row->type));
    if (is_about_video(row->id))
        for (auto& word : std::get<std::vector<std::string>>(term.need))
            word = video_word(word);
    return term;
}

namespace {

/// Parses a part of an image's condition. The value of `brand` is one of NVML's names of brands,
/// and is compared by admits().
Result<Term> condition_part(std::string_view text) {
    auto part = term_text(text);
    if (part.name == "brand") {
        Term term{.fact = FactId::ProductLine, .name = std::string{text}};
        term.relation = part.sign == "!=" ? Relation::IsNot : Relation::Is;
        if (part.sign != "=" && part.sign != "!=")
            return refused("brand: expected = or !=");
        term.need = TRY(words_from(part));
        return term;
    }
    if (part.name == "arch")
        part.name = "compute-capability";
    else if (part.name != "cuda" && part.name != "driver")
        return refused(scrubbed(part.name, 64) + ": expected cuda, driver, arch or brand");
    auto term = TRY(fact_term(part));
    term.name = text;
    return term;
}

}  // namespace

Result<Term> image_condition(std::string_view text) {
    std::vector<Conjunction> alternatives;
    for (const auto alternative : words(text)) {
        auto& parts = alternatives.emplace_back();
        for (const auto part : split(alternative, ','))
            parts.push_back(TRY(condition_part(part)));
    }
    if (alternatives.empty())
        return refused("no condition");
    return Term{.fact = FactId::Alternatives,
                .relation = Relation::Admits,
                .need = std::move(alternatives),
                .name = "NVIDIA_REQUIRE_CUDA"};
}

Result<Predicate> parse_predicate(std::string_view text) {
    if (text.size() > kMaxPredicate)
        return refused("a predicate of more than 256 bytes");
    const auto alternatives = alternatives_of(text);
    Predicate predicate{.text = std::string{text}, .takes_doubt = alternatives.takes_doubt};
    for (const auto& one : alternatives.terms)
        predicate.alternatives.push_back(TRY(fact_term(one)));
    return predicate;
}

Result<Predicate> requested_predicate(std::string_view text) {
    auto predicate = TRY(parse_predicate(text));
    auto about_video = predicate;
    std::erase_if(about_video.alternatives,
                  [](const Term& term) { return !is_about_video(term.fact); });
    if (const auto problem = unlisted_word(about_video); !problem.empty()) {
        const auto meant = did_you_mean(problem.word, problem.known);
        return refused(scrubbed(problem.word, 64) + ": unknown video format" +
                       (meant.empty() ? "" : "; " + meant));
    }
    return predicate;
}

std::optional<std::string> predicate_problem(std::string_view text) {
    const auto parsed = parse_predicate(text);
    return parsed ? std::nullopt : std::optional{parsed.error().text};
}

bool is_about_host(const Predicate& predicate) {
    return std::ranges::all_of(predicate.alternatives,
                               [](const Term& term) { return is_about_host(term); });
}

ReadProblem unlisted_word(const Predicate& predicate) {
    for (const auto& term : predicate.alternatives)
        if (const auto* words = std::get_if<std::vector<std::string>>(&term.need))
            for (const auto& word : *words)
                if (!is_known_word(term.fact, word)) {
                    auto problem = unknown_word("unknown word", known_words(term.fact));
                    problem.word = word;
                    problem.may_be_newer = true;
                    return problem;
                }
    return {};
}

Term term_of(Predicate predicate) {
    auto term = predicate.alternatives.size() == 1
                    ? std::move(predicate.alternatives.front())
                    : Term{.fact = FactId::Alternatives,
                           .relation = Relation::AnyOf,
                           .need = std::move(predicate.alternatives)};
    term.name = std::move(predicate.text);
    term.accepts_unknown = predicate.takes_doubt;
    return term;
}

ReadProblem read_value(const Value& value, Predicate& out) {
    std::string text;
    if (auto problem = base::read_value(value, text); !problem.empty())
        return problem;
    auto parsed = parse_predicate(text);
    if (!parsed)
        return std::move(parsed).error().text;
    out = std::move(parsed).value();
    return {};
}

Value to_value(const Predicate& predicate) {
    return Value{predicate.text};
}

}  // namespace gpuprobe::inline policy
