// SPDX-License-Identifier: Apache-2.0
#include "explain/cause_terms.h"

#include <algorithm>
#include <array>
#include <span>

#include <fnmatch.h>

#include "base/parse.h"

namespace gpuprobe::inline explain {
namespace {

constexpr std::size_t kMaxMet = 4096;

/// Where an operator begins, outside of brackets; the whole length where there is none.
std::size_t operator_in(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
        if (depth == 0 && std::string_view{"<>=!"}.find(text[i]) != std::string_view::npos)
            return i;
    }
    return text.size();
}

Error refused(std::string_view text, const char* why) {
    return Error{ErrorCode::InvalidRequest, scrubbed(text, 64) + ": " + why};
}

Result<PathTerm> path_term(std::string_view text);

Result<PathStep> step_from(std::string_view text) {
    const auto open = std::min(text.find('['), text.size());
    PathStep step{.name = std::string{text.substr(0, open)}};
    if (open == text.size())
        return step;
    if (!text.ends_with(']'))
        return refused(text, "a bracket is not closed");
    step.filter.push_back(
        TRY(path_term("." + std::string{text.substr(open + 1, text.size() - open - 2)})));
    return step;
}

struct Sign {
    std::string_view text;
    Relation relation;
};
constexpr auto kSigns = std::to_array<Sign>({{"=", Relation::Is},
                                             {"!=", Relation::IsNot},
                                             {"<", Relation::Less},
                                             {"<=", Relation::AtMost},
                                             {">", Relation::More},
                                             {">=", Relation::AtLeast}});

Result<PathTerm> path_term(std::string_view text) {
    const auto begin = operator_in(text);
    PathTerm term;
    term.path = TRY(parse_path(text.substr(0, begin)));
    if (begin == text.size())
        return term;
    const auto end = std::min(text.find_first_not_of("<>=!", begin), text.size());
    const auto* sign = std::ranges::find(kSigns, text.substr(begin, end - begin), &Sign::text);
    if (sign == kSigns.end())
        return refused(text, "expected =, !=, <, <=, > or >=");
    term.relation = sign->relation;
    const auto value = text.substr(end);
    if (value.starts_with('$'))
        term.other.push_back(TRY(parse_path(value.substr(1))));
    else
        for (const auto word : split(value, '|'))
            term.words.emplace_back(word);
    return term;
}

bool fits(const PathStep& step, const Value& value, const Scene& scene);

/// The name of a step; "{api}" stands for that member of the evidence.
std::string name_of(const PathStep& step, const Scene& scene) {
    const std::string_view name{step.name};
    const bool is_filled = name.starts_with('{') && name.ends_with('}');
    return is_filled ? word_of(scene.evidence->at(name.substr(1, name.size() - 2))) : step.name;
}

void walk(const Value& value,
          std::span<const PathStep> steps,
          std::string_view key,
          const Scene& scene,
          std::vector<Met>& met) {
    if (const auto* items = value.as_array()) {
        for (const auto& item : *items)
            walk(item, steps, key, scene, met);
        return;
    }
    if (steps.empty()) {
        if (!value.is_null() && met.size() < kMaxMet)
            met.push_back({&value, key});
        return;
    }
    const auto into = [&](const Value& member, std::string_view name) {
        const auto* items = member.as_array();
        for (const auto& item : items ? std::span{*items} : std::span{&member, 1})
            if (fits(steps.front(), item, scene))
                walk(item, steps.subspan(1), name, scene, met);
    };
    const auto* members = value.as_object();
    if (members && steps.front().name == "*")
        for (const auto& member : *members)
            into(member.value, member.key);
    else if (members)
        into(value.at(name_of(steps.front(), scene)), key);
}

bool is_something(const Met& met) {
    const auto word = lower_case(word_of(*met.value));
    const bool is_whole = met.value->is_object();
    return is_whole || (!word.empty() && word != "false" && word != "0");
}

bool compares(const std::string& have, const std::string& want, Relation relation) {
    if (relation == Relation::Is || relation == Relation::IsNot)
        return fnmatch(want.c_str(), have.c_str(), FNM_NOESCAPE | FNM_CASEFOLD) == 0;
    const auto left = leading_version(have);
    const auto right = leading_version(want);
    if (!left || !right)
        return false;
    const bool takes_equal = relation == Relation::AtMost || relation == Relation::AtLeast;
    const bool is_upper = relation == Relation::Less || relation == Relation::AtMost;
    return *left == *right ? takes_equal : (*left < *right) == is_upper;
}

Truth truth_of(const PathTerm& term, const std::vector<Met>& met, const Scene& scene) {
    if (term.relation == Relation::Never)
        return gpuprobe::truth_of(std::ranges::any_of(met, is_something));
    auto words = term.words;
    for (const auto& path : term.other)
        for (const auto& other : met_by(path, scene))
            words.push_back(word_of(*other.value));
    if (met.empty() || words.empty())
        return Truth::Unknown;
    const bool is_any = std::ranges::any_of(met, [&](const Met& have) {
        return std::ranges::any_of(words, [&](const std::string& want) {
            return compares(word_of(*have.value), want, term.relation);
        });
    });
    return gpuprobe::truth_of(is_any != (term.relation == Relation::IsNot));
}

bool fits(const PathStep& step, const Value& value, const Scene& scene) {
    if (step.filter.empty())
        return true;
    const auto& term = step.filter.front();
    std::vector<Met> met;
    walk(value, term.path.steps, {}, scene, met);
    return truth_of(term, met, scene) == Truth::True;
}

const Value& root_of(const Path& path, const Scene& scene) {
    static const Value kNothing;
    if (path.root.empty())
        return scene.evidence ? *scene.evidence : kNothing;
    if (path.root == "report")
        return *scene.report;
    if (path.root == "host")
        return scene.report->at("host");
    if (path.root == "gpu" || path.root == "accelerator" || path.root == "device")
        return scene.device ? *scene.device : kNothing;
    return scene.more->at(path.root);
}

constexpr auto kRoots = std::to_array<std::string_view>(
    {"", "report", "host", "gpu", "accelerator", "device", "here", "place", "apis"});

std::vector<std::string_view> pieces(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> found;
    for (;;) {
        const auto at = text.find(separator);
        found.push_back(trimmed(text.substr(0, at)));
        if (at == std::string_view::npos)
            return found;
        text.remove_prefix(at + separator.size());
    }
}

Status add_alternative(std::string_view text, Condition::Clause& clause) {
    if (text == "unknown" && !clause.alternatives.empty()) {
        clause.takes_doubt = true;
        return Done{};
    }
    if (text.substr(0, operator_in(text)).find('.') != std::string_view::npos) {
        clause.alternatives.emplace_back(TRY(path_term(text)));
        return Done{};
    }
    auto predicate = TRY(parse_predicate(text));
    for (auto& term : predicate.alternatives)
        clause.alternatives.emplace_back(std::move(term));
    return Done{};
}

}  // namespace

std::string word_of(const Value& value) {
    if (const auto* text = value.as_string())
        return *text;
    if (const auto flag = value.as_bool())
        return *flag ? "true" : "false";
    if (const auto number = value.as_int())
        return std::to_string(*number);
    return "";
}

Result<Path> parse_path(std::string_view text) {
    const auto dot = std::min(text.find('.'), text.size());
    Path path;
    path.root = text.substr(0, dot);
    if (std::ranges::find(kRoots, path.root) == kRoots.end())
        return refused(text, "a path begins with nothing of that name");
    text.remove_prefix(std::min(dot + 1, text.size()));
    while (!text.empty()) {
        const auto bracket = text.find('[');
        auto end = text.find('.');
        if (bracket < end)
            end = text.find('.', std::min(text.find(']'), text.size()));
        path.steps.push_back(TRY(step_from(text.substr(0, end))));
        text.remove_prefix(std::min(end == std::string_view::npos ? end : end + 1, text.size()));
    }
    return path;
}

Result<Condition> parse_condition(std::string_view text) {
    Condition condition;
    for (const auto all : pieces(text, " and ")) {
        auto& clause = condition.clauses.emplace_back();
        for (const auto any : pieces(all, " or "))
            TRY(add_alternative(any, clause));
    }
    return condition;
}

std::vector<Met> met_by(const Path& path, const Scene& scene) {
    std::vector<Met> met;
    walk(root_of(path, scene), path.steps, {}, scene, met);
    return met;
}

Truth holds(const Condition& condition, const Scene& scene) {
    const auto of_one = [&](const std::variant<PathTerm, Term>& term) {
        if (const auto* own = std::get_if<PathTerm>(&term))
            return truth_of(*own, met_by(own->path, scene), scene);
        return holds(std::get<Term>(term), *scene.facts);
    };
    auto all = Truth::True;
    for (const auto& clause : condition.clauses) {
        auto any = Truth::False;
        for (const auto& term : clause.alternatives)
            any = any == Truth::True ? any : either(any, of_one(term));
        if (clause.takes_doubt && any == Truth::Unknown)
            any = Truth::True;
        all = both(all, any);
        if (all == Truth::False)
            return all;
    }
    return all;
}

}  // namespace gpuprobe::inline explain
