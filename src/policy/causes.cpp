// SPDX-License-Identifier: Apache-2.0
#include "policy/causes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include <fnmatch.h>

#include "base/text.h"
#include "knowledge/library.h"
#include "policy/fact.h"

namespace gpuprobe::inline policy {
namespace {

// The maximum number of values that one path can reach.
constexpr std::size_t kMaxMet = 4096;
// Limit for bytes of a condition, and thus for nested brackets.
constexpr std::size_t kMaxText = 1024;

Result<PathTerm> term_from(const TermText& text);

/// Parses a step: a name with an optional filter in brackets.
Result<PathStep> step_from(std::string_view text) {
    const auto open = std::min(text.find('['), text.size());
    PathStep step{.name = std::string{text.substr(0, open)}};
    if (open == text.size())
        return step;
    if (!text.ends_with(']'))
        return Error{ErrorCode::InvalidRequest, scrubbed(text, 64) + ": a bracket is not closed"};
    // The path in a filter starts at the item that is filtered, so a dot is put in front of the
    // path.
    const auto inside = "." + std::string{text.substr(open + 1, text.size() - open - 2)};
    step.filter.push_back(TRY(term_from(term_text(inside))));
    return step;
}

/// Parses a path. Errors: InvalidRequest for an unknown root or an unclosed bracket.
Result<Path> path_from(std::string_view text) {
    constexpr auto kRoots =
        std::to_array<std::string_view>({"", "report", "host", "gpu", "accelerator", "device",
                                         "here", "place", "apis", "variables", "told"});
    if (text.starts_with('\''))
        return Path{.root = {}, .steps = {}, .text = Value{text.substr(1)}};
    const auto dot = std::min(text.find('.'), text.size());
    Path path;
    path.root = text.substr(0, dot);
    if (std::ranges::find(kRoots, path.root) == kRoots.end())
        return Error{ErrorCode::InvalidRequest,
                     scrubbed(text, 64) + ": no path begins with that name"};
    // Split at dots that aren't inside a filter.
    for (text.remove_prefix(dot); text.size() > 1;) {
        text.remove_prefix(1);
        const auto end = find_outside_brackets(text, ".");
        path.steps.push_back(TRY(step_from(text.substr(0, end))));
        text.remove_prefix(end);
    }
    return path;
}

/// Parses a term over paths. If the right-hand side begins with `$`, it is another path.
Result<PathTerm> term_from(const TermText& text) {
    PathTerm term;
    term.path = TRY(path_from(text.name));
    if (text.sign.empty())
        return term;
    term.relation = TRY(relation_of(text));
    if (text.value.starts_with('$'))
        term.other.push_back(TRY(path_from(text.value.substr(1))));
    else
        for (const auto word : split(text.value, '|'))
            term.words.emplace_back(word);
    return term;
}

/// Parses a condition into clauses, and each clause into alternatives.
Result<Condition> condition_from(std::string_view text) {
    Condition condition;
    for (const auto clause : split_at_word(text, " and ")) {
        auto alternatives = alternatives_of(clause);
        auto& into = condition.clauses.emplace_back();
        into.takes_doubt = alternatives.takes_doubt;
        for (const auto& one : alternatives.terms)
            // A name with a dot is a path and not a fact, except for video facts.
            if (one.name.find('.') != std::string_view::npos && !find_fact(one.name))
                into.alternatives.emplace_back(TRY(term_from(one)));
            else
                into.alternatives.emplace_back(TRY(fact_term(one)));
    }
    return condition;
}

Truth tested(const PathTerm& term, const std::vector<Evidence>& proof, const TermContext& context);

/// Collects the values that are reached from `value` by the steps of the path after the first
/// `taken` steps. `key` is the last name that a `*` in the path matched.
void walk(const Value& value,
          std::span<const PathStep> steps,
          std::size_t taken,
          std::string_view key,
          const TermContext& context,
          std::vector<Evidence>& proof) {
    // A list needs no step in the path, so continue with every item.
    if (const auto* items = value.as_array()) {
        for (const auto& item : *items)
            walk(item, steps, taken, key, context, proof);
        return;
    }
    // The filter belongs to the step of the path that led to this value.
    if (taken > 0 && !steps[taken - 1].filter.empty()) {
        const auto& filter = steps[taken - 1].filter.front();
        std::vector<Evidence> inside;
        walk(value, filter.path.steps, 0, {}, context, inside);
        if (tested(filter, inside, context) != Truth::True)
            return;
    }
    if (taken == steps.size()) {
        if (!value.is_null() && proof.size() < kMaxMet)
            proof.push_back({&value, key});
        return;
    }
    const auto* members = value.as_object();
    const std::string_view name{steps[taken].name};
    if (members && name == "*")
        for (const auto& member : *members)
            walk(member.value, steps, taken + 1, member.key, context, proof);
    else if (members && name.starts_with('{'))
        // A name in braces, such as "{api}", is taken from the evidence.
        walk(value.at(word_of(context.evidence->at(name.substr(1, name.size() - 2)))), steps,
             taken + 1, key, context, proof);
    else if (members)
        walk(value.at(name), steps, taken + 1, key, context, proof);
}

/// Whether the value is an object, or any other value except empty values, false and 0.
bool is_something(const Evidence& proof) {
    const auto word = lower_case(word_of(*proof.value));
    return proof.value->is_object() || (!word.empty() && word != "false" && word != "0");
}

/// For equality, the pattern `want` is compared without regard to case. For all other relations,
/// versions are compared.
bool compares(const std::string& have, const std::string& want, Relation relation) {
    if (relation == Relation::Equals || relation == Relation::Differs)
        return fnmatch(want.c_str(), have.c_str(), FNM_NOESCAPE | FNM_CASEFOLD) == 0;
    const auto left = leading_version(have);
    const auto right = leading_version(want);
    return left && right && stands(*left <=> *right, relation);
}

/// Whether at least one of the reached values satisfies the term; unknown if there is nothing to
/// compare.
Truth tested(const PathTerm& term, const std::vector<Evidence>& proof, const TermContext& context) {
    if (term.relation == Relation::Never)
        return truth_of(std::ranges::any_of(proof, is_something));
    // The values with which the term compares: literal words, and the values that the other path
    // reaches.
    auto words = term.words;
    for (const auto& path : term.other)
        for (const auto& other : met_by(path, context))
            words.push_back(word_of(*other.value));
    if (proof.empty() || words.empty())
        return Truth::Unknown;
    const bool is_any = std::ranges::any_of(proof, [&](const Evidence& have) {
        return std::ranges::any_of(words, [&](const std::string& want) {
            return compares(word_of(*have.value), want, term.relation);
        });
    });
    // compares() reports only whether the words match, so negate the result for "!=".
    return truth_of(is_any != (term.relation == Relation::Differs));
}

/// Parses the string in `value` with `parse` and stores the result in `out`.
template <class T>
ReadProblem put(const Value& value, Result<T> (*parse)(std::string_view), T& out) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    if (text->size() > kMaxText)
        return "more than 1024 bytes";
    auto parsed = parse(*text);
    if (!parsed)
        return parsed.error().text;
    out = std::move(parsed).value();
    return {};
}

}  // namespace

ReadProblem read_value(const Value& value, Condition& condition) {
    return put(value, condition_from, condition);
}

ReadProblem read_value(const Value& value, Path& path) {
    return put(value, path_from, path);
}

std::string word_of(const Value& value) {
    if (const auto* text = value.as_string())
        return *text;
    if (const auto flag = value.as_bool())
        return *flag ? "true" : "false";
    if (const auto number = value.as_int())
        return std::to_string(*number);
    return "";
}

std::vector<Evidence> met_by(const Path& path, const TermContext& context) {
    const bool is_device =
        path.root == "gpu" || path.root == "accelerator" || path.root == "device";
    const auto* root = path.root.empty() ? context.evidence
                       : is_device       ? context.device
                                         : &context.roots->at(path.root);
    std::vector<Evidence> proof;
    // A literal is stored as a path that leads to the literal.
    if (!path.text.is_null())
        proof.push_back({.value = &path.text});
    else if (root)
        walk(*root, path.steps, 0, {}, context, proof);
    return proof;
}

Truth holds(const Condition& condition, const TermContext& context) {
    const auto of_one = [&](const std::variant<PathTerm, Term>& term) {
        if (const auto* own = std::get_if<PathTerm>(&term))
            return tested(*own, met_by(own->path, context), context);
        return holds(std::get<Term>(term), *context.facts);
    };
    auto all = Truth::True;
    for (const auto& clause : condition.clauses) {
        auto any = Truth::False;
        // A clause is a disjunction, so skip the remaining alternatives after an alternative that
        // holds.
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

bool has_paths(const Condition& condition) {
    return std::ranges::any_of(condition.clauses, [](const Condition::Clause& clause) {
        return std::ranges::any_of(clause.alternatives, [](const auto& term) {
            return std::holds_alternative<PathTerm>(term);
        });
    });
}

bool all_hold(const std::vector<Condition>& conditions, const TermContext& context) {
    return std::ranges::all_of(conditions, [&](const Condition& condition) {
        return holds(condition, context) == Truth::True;
    });
}

namespace {

constexpr std::string_view kCausesSchema = "gpuprobe.causes/1";

/// One data file.
struct CausesDocument {
    std::string schema = {};
    std::map<std::string, std::string> variables = {};
    std::vector<std::string> programs = {};
    std::vector<std::string> log = {};
    std::vector<Cause> causes = {};
};

}  // namespace

RECORD_MEMBERS(
    Remedy, when, ("case", case_name), text, fix, run, ("safe", is_safe), ("on_host", is_for_host))

RECORD_MEMBERS(Cause,
               id,
               of,
               from,
               once,
               when,
               unless,
               show,
               instead_of,
               ("alone", is_alone),
               backends,
               fault,
               severity,
               eased,
               text,
               fixes)

namespace {

RECORD_MEMBERS(CausesDocument, schema, variables, programs, log, causes)

/// The causes in the data files for which `is_wanted` returns true.
Causes causes_in(const knowledge::Library& library,
                 bool (*is_wanted)(const knowledge::StoredDocument& document)) {
    Causes causes;
    // If a data file is malformed, use the compiled-in version of the file.
    for (const auto& [name, document] : library.below("causes"))
        if (is_wanted(*document) && !causes.add(document->json))
            (void)causes.add(knowledge::compiled_in_text("causes/" + name));
    return causes;
}

}  // namespace

const Causes& Causes::current() {
    return knowledge::made_of_documents([](const knowledge::Library& library) {
        return causes_in(library, [](const knowledge::StoredDocument&) { return true; });
    });
}

const Causes& Causes::known_bad() {
    return knowledge::made_of_documents([](const knowledge::Library& library) {
        auto causes = causes_in(library, [](const knowledge::StoredDocument& document) {
            return document.json.find(R"("backends")") != std::string_view::npos;
        });
        std::erase_if(causes.causes_, [](const Cause& cause) { return cause.backends.empty(); });
        causes.by_code_.clear();
        return causes;
    });
}

Status Causes::add(std::string_view json) {
    auto document = TRY(knowledge::document_from<CausesDocument>(json, kCausesSchema));
    for (auto& cause : document.causes) {
        // Index the causes by the reason codes that filter their evidence, as in
        // "reasons[code=…]".
        for (const auto& from : cause.from)
            for (const auto& step : from.steps)
                for (const auto& filter : step.filter)
                    if (!filter.path.steps.empty() && filter.path.steps.back().name == "code")
                        for (const auto& code : filter.words)
                            by_code_[code].push_back(causes_.size());
        if (!cause.backends.empty())
            by_code_["known-bad"].push_back(causes_.size());
        causes_.push_back(std::move(cause));
    }
    variables_.merge(document.variables);
    std::ranges::move(document.programs, std::back_inserter(programs_));
    std::ranges::move(document.log, std::back_inserter(log_words_));
    return Done{};
}

std::vector<const Cause*> Causes::resting_on(const std::string& code) const {
    std::vector<const Cause*> found;
    if (const auto indices = by_code_.find(code); indices != by_code_.end())
        for (const auto index : indices->second)
            found.push_back(&causes_[index]);
    // Then add the causes that replace one of the causes that were found above.
    const auto resting = found.size();
    for (const auto& cause : causes_)
        for (std::size_t i = 0; i < resting; ++i)
            if (std::ranges::count(cause.instead_of, found[i]->id) > 0)
                found.push_back(&cause);
    return found;
}

}  // namespace gpuprobe::inline policy
