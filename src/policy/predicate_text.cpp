// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/parse.h"
#include "base/size.h"
#include "policy/term.h"
#include "report/libraries.h"

namespace gpuprobe::inline policy {
namespace {

/// "driver>=550" in pieces; a flag alone has neither operator nor value.
struct Pieces {
    std::string_view text = {};
    std::string_view fact = {};
    std::string_view relation = {};
    std::string_view value = {};
};

Pieces pieces_of(std::string_view text) {
    text = trimmed(text);
    const auto begin = std::min(text.find_first_of("<>=!"), text.size());
    const auto end = std::min(text.find_first_not_of("<>=!", begin), text.size());
    return {.text = text,
            .fact = trimmed(text.substr(0, begin)),
            .relation = text.substr(begin, end - begin),
            .value = trimmed(text.substr(end))};
}

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

Result<TermNeed> words_from(const Pieces& pieces) {
    std::vector<std::string> words;
    for (const auto alternative : split(pieces.value, '|')) {
        const auto word = trimmed(alternative);
        if (word.empty())
            return refused(std::string{pieces.fact} + ": an empty word");
        if (pieces.fact == "library" && !is_listed_library(word))
            return refused(scrubbed(word, 64) + ": no scan looks for this library");
        words.push_back(pieces.fact == "library" ? std::string{word} : lower_case(word));
    }
    return TermNeed{std::move(words)};
}

Result<TermNeed> need_from(const Pieces& pieces, AskedType type) {
    const std::string fact{pieces.fact};
    if (type == AskedType::Version) {
        const auto version = parse_text(pieces.value, std::type_identity<Version>{});
        return version ? Result<TermNeed>{*version}
                       : refused(fact + ": expected a version like 1.2");
    }
    if (type == AskedType::Size) {
        const auto size = size_from_text(pieces.value);
        return size ? Result<TermNeed>{*size} : refused(fact + ": expected a size like 8GiB");
    }
    if (type != AskedType::Flag)
        return words_from(pieces);
    if (pieces.relation != "=" || (pieces.value != "true" && pieces.value != "false"))
        return refused(fact + ": expected =true, =false or nothing");
    return TermNeed{pieces.value == "true"};
}

Result<Term> term_from(const Pieces& pieces) {
    const auto* row = find_fact(pieces.fact);
    if (!row)
        return refused(scrubbed(pieces.fact, 64) + ": no such fact");
    Term term{.fact = row->id, .relation = Relation::Equals, .name = std::string{pieces.text}};
    if (row->type == AskedType::Flag && pieces.relation.empty()) {
        term.need = true;
        return term;
    }
    const auto* sign = std::ranges::find(kSigns, pieces.relation, &Sign::text);
    if (sign == kSigns.end())
        return refused(std::string{pieces.fact} + ": expected =, !=, <, <=, > or >=");
    term.relation = sign->relation;
    if (row->type == AskedType::Word || row->type == AskedType::Words) {
        if (term.relation != Relation::Equals && term.relation != Relation::Differs)
            return refused(std::string{pieces.fact} + ": a word is compared with = or !=");
        term.relation = term.relation == Relation::Equals ? Relation::Is : Relation::IsNot;
    }
    term.need = TRY(need_from(pieces, row->type));
    return term;
}

}  // namespace

Result<Predicate> parse_predicate(std::string_view text) {
    constexpr std::string_view kOr = " or ";
    constexpr std::string_view kDoubt = "unknown";
    if (text.size() > kMaxPredicate)
        return refused("a predicate of more than 256 bytes");
    Predicate predicate;
    for (;;) {
        const auto at = text.find(kOr);
        const auto pieces = pieces_of(text.substr(0, at));
        const bool is_last = at == std::string_view::npos;
        predicate.takes_doubt = is_last && !predicate.alternatives.empty() && pieces.text == kDoubt;
        if (!predicate.takes_doubt)
            predicate.alternatives.push_back(TRY(term_from(pieces)));
        if (is_last)
            return predicate;
        text.remove_prefix(at + kOr.size());
    }
}

std::optional<std::string> predicate_problem(std::string_view text) {
    const auto parsed = parse_predicate(text);
    return parsed ? std::nullopt : std::optional{parsed.error().text};
}

bool is_about_host(std::string_view predicate) {
    const auto parsed = parse_predicate(predicate);
    return parsed && std::ranges::all_of(parsed->alternatives,
                                         [](const Term& term) { return is_about_host(term); });
}

}  // namespace gpuprobe::inline policy
