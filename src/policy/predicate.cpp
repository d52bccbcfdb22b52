// SPDX-License-Identifier: Apache-2.0
#include "policy/predicate.h"

#include <algorithm>
#include <array>
#include <compare>

#include "base/dotted_version.h"
#include "base/parse.h"
#include "base/size.h"
#include "report/libraries.h"

namespace gpuprobe {
namespace {

/// "driver>=550" in pieces; a flag alone has neither operator nor value.
struct Term {
    std::string_view text = {};
    std::string_view fact = {};
    std::string_view relation = {};
    std::string_view value = {};
};

Term term_of(std::string_view text) {
    text = trimmed(text);
    const auto begin = std::min(text.find_first_of("<>=!"), text.size());
    const auto end = std::min(text.find_first_not_of("<>=!", begin), text.size());
    return {.text = text,
            .fact = trimmed(text.substr(0, begin)),
            .relation = text.substr(begin, end - begin),
            .value = trimmed(text.substr(end))};
}

/// "gfx!=gfx8* or unknown": its last word lets through what is not known.
struct Alternatives {
    std::vector<Term> terms = {};
    bool takes_doubt = false;
};

Alternatives alternatives_in(std::string_view predicate) {
    constexpr std::string_view kOr = " or ";
    constexpr std::string_view kDoubt = "unknown";
    Alternatives found;
    for (;;) {
        const auto at = predicate.find(kOr);
        found.terms.push_back(term_of(predicate.substr(0, at)));
        if (at == std::string_view::npos)
            break;
        predicate.remove_prefix(at + kOr.size());
    }
    found.takes_doubt = found.terms.size() > 1 && found.terms.back().text == kDoubt;
    if (found.takes_doubt)
        found.terms.pop_back();
    return found;
}

bool stands(std::strong_ordering order, std::string_view relation) {
    if (relation == "=")
        return order == 0;
    if (relation == "!=")
        return order != 0;
    if (relation == "<")
        return order < 0;
    if (relation == "<=")
        return order <= 0;
    return relation == ">" ? order > 0 : order >= 0;
}

/// `*` at the end of an alternative stands for anything.
bool is_one_of(std::string_view word, std::string_view alternatives) {
    return std::ranges::any_of(split(alternatives, '|'), [word](std::string_view alternative) {
        const auto wanted = lower_case(trimmed(alternative));
        if (wanted.ends_with('*'))
            return word.starts_with(std::string_view{wanted}.substr(0, wanted.size() - 1));
        return word == wanted;
    });
}

bool holds_for_words(const Term& term, const std::vector<std::string>& words) {
    const bool is_any = std::ranges::any_of(
        words, [&term](const std::string& word) { return is_one_of(word, term.value); });
    return (term.relation == "!=") != is_any;
}

std::optional<bool> holds_for_size(const Term& term, const KnownFact& fact) {
    const auto wanted = size_from_text(term.value);
    if (!wanted)
        return std::nullopt;
    if (fact.is_known)
        return stands(parse_number<std::uint64_t>(fact.words.front()).value_or(0) <=> wanted->count,
                      term.relation);
    const bool is_floor = term.relation == ">=" || term.relation == ">";
    if (is_floor && fact.at_most && !stands(fact.at_most->count <=> wanted->count, term.relation))
        return false;
    return std::nullopt;
}

std::optional<bool> holds_for_version(const Term& term, const KnownFact& fact) {
    const auto have = leading_version(fact.words.front());
    const auto wanted = leading_version(term.value);
    if (!have || !wanted)
        return std::nullopt;
    return stands(*have <=> *wanted, term.relation);
}

std::optional<bool> holds(const Term& term, FactKind kind, const KnownFact& fact) {
    if (fact.is_known && fact.words.empty())
        return false;
    if (kind == FactKind::Size)
        return holds_for_size(term, fact);
    if (!fact.is_known)
        return std::nullopt;
    if (kind == FactKind::Version)
        return holds_for_version(term, fact);
    if (kind == FactKind::Flag)
        return (fact.words.front() == "true") == (term.relation != "=" || term.value == "true");
    return holds_for_words(term, fact.words);
}

Value have_of(const KnownFact& fact) {
    if (fact.words.empty())
        return fact.at_most ? Value{fact.at_most->count} : Value{};
    return fact.words.size() == 1 ? Value{fact.words.front()} : to_value(fact.words);
}

Reason memory_reason(const Term& term, const KnownFact& fact) {
    const auto need = size_from_text(term.value).value_or(Bytes{}).count;
    const auto known = fact.is_known ? parse_number<std::uint64_t>(fact.words.front())
                                     : std::optional<std::uint64_t>{};
    const auto have = known ? known : fact.at_most ? std::optional{fact.at_most->count} : known;
    const bool is_bound = !known || term.fact == "physical-memory";
    return because(
        "too-little-memory",
        {{"have", to_value(have)}, {"need", need}, {"of", is_bound ? "physical" : "allocatable"}});
}

Reason failure(const Term& term, const KnownFact& fact) {
    const bool is_floor = term.relation == ">=" || term.relation == ">";
    const bool is_there = !fact.words.empty() || fact.at_most;
    if (is_floor && is_there && term.fact.ends_with("memory"))
        return memory_reason(term, fact);
    if (is_floor && is_there && term.fact == "driver")
        return because("driver-too-old", {{"have", have_of(fact)}, {"need", term.value}});
    if (term.fact == "library" && term.relation == "=")
        return because("library-missing", {{"missing", term.value}});
    for (const auto* architecture : {"compute-capability", "gfx", "intel-ip"})
        if (is_there && term.fact == architecture)
            return because("arch-not-in-build", {{"have", have_of(fact)}, {"need", term.text}});
    return because("requirement-unmet", {{"have", have_of(fact)}, {"requirement", term.text}});
}

Reason doubt(const Term& term) {
    if (term.fact == "memory")
        return because("memory-unknown",
                       {{"need", size_from_text(term.value).value_or(Bytes{}).count}});
    return because("requirement-unknown", {{"requirement", term.text}});
}

Tested test_term(const Term& term, const FactScope& scope) {
    const auto* name = find_machine_fact(term.fact);
    const auto fact = machine_fact(term.fact, scope);
    Tested tested{.holds = name ? holds(term, name->kind, fact) : std::nullopt};
    if (tested.holds == false)
        tested.why = failure(term, fact);
    else if (!tested.holds)
        tested.why = doubt(term);
    return tested;
}

std::optional<std::string> word_problem(const Term& term) {
    if (term.relation != "=" && term.relation != "!=")
        return std::string{term.fact} + ": a word is compared with = or !=";
    for (const auto alternative : split(term.value, '|'))
        if (trimmed(alternative).empty())
            return std::string{term.fact} + ": an empty word";
        else if (term.fact == "library" && !is_listed_library(trimmed(alternative)))
            return scrubbed(trimmed(alternative), 64) + ": no scan looks for this library";
    return std::nullopt;
}

std::optional<std::string> value_problem(const Term& term, FactKind kind) {
    if (kind == FactKind::Flag && term.relation.empty())
        return std::nullopt;
    constexpr auto kRelations = std::to_array<std::string_view>({"=", "!=", "<", "<=", ">", ">="});
    if (std::ranges::find(kRelations, term.relation) == kRelations.end())
        return std::string{term.fact} + ": expected =, !=, <, <=, > or >=";
    if (kind == FactKind::Word)
        return word_problem(term);
    if (kind == FactKind::Version && !parse_text(term.value, std::type_identity<Version>{}))
        return std::string{term.fact} + ": expected a version like 1.2";
    if (kind == FactKind::Size && !size_from_text(term.value))
        return std::string{term.fact} + ": expected a size like 8GiB";
    if (kind == FactKind::Flag &&
        (term.relation != "=" || (term.value != "true" && term.value != "false")))
        return std::string{term.fact} + ": expected =true, =false or nothing";
    return std::nullopt;
}

}  // namespace

std::optional<std::string> predicate_problem(std::string_view text) {
    if (text.size() > kMaxPredicate)
        return "a predicate of more than 256 bytes";
    for (const auto& term : alternatives_in(text).terms) {
        const auto* name = find_machine_fact(term.fact);
        if (!name)
            return scrubbed(term.fact, 64) + ": no such fact";
        if (auto problem = value_problem(term, name->kind))
            return problem;
    }
    return std::nullopt;
}

bool is_about_host(std::string_view predicate) {
    return std::ranges::all_of(alternatives_in(predicate).terms, [](const Term& term) {
        const auto* name = find_machine_fact(term.fact);
        return name && name->is_of_host;
    });
}

Tested test_predicate(std::string_view predicate, const FactScope& scope) {
    Tested result{.holds = false};
    const auto [terms, takes_doubt] = alternatives_in(predicate);
    for (const auto& term : terms) {
        auto tested = test_term(term, scope);
        if (tested.holds == true)
            return {.holds = true};
        if (!tested.holds || result.holds == false)
            result = {.holds = tested.holds ? result.holds : std::nullopt,
                      .why = std::move(tested.why)};
    }
    if (takes_doubt && !result.holds)
        return {.holds = true};
    return result;
}

std::optional<bool> test_all(const std::vector<std::string>& predicates, const FactScope& scope) {
    std::optional<bool> all = true;
    for (const auto& predicate : predicates) {
        const auto tested = test_predicate(predicate, scope);
        if (tested.holds == false)
            return false;
        if (!tested.holds)
            all.reset();
    }
    return all;
}

}  // namespace gpuprobe
