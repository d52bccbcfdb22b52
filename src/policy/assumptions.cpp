// SPDX-License-Identifier: Apache-2.0
#include "policy/assumptions.h"

#include "base/text.h"
#include "policy/term.h"

namespace gpuprobe::inline policy {
namespace {

constexpr std::size_t kMaxShown = 64;

/// The value of a term, as a fact of the type `type`. If a term contains a set of words, the value
/// is the whole set.
AnyFact fact_of(const Term& term, std::string_view text, FactForm type) {
    switch (type) {
        case FactForm::Version: {
            auto fact = Fact<Version>::known(std::get<Version>(term.need));
            fact.text = text;
            return fact;
        }
        case FactForm::Size:
            return Fact<Bytes>::known(std::get<Bytes>(term.need));
        case FactForm::Flag:
            return Fact<bool>::known(std::get<bool>(term.need));
        case FactForm::Words:
            return Fact<WordSet>::known(WordSet{std::get<std::vector<std::string>>(term.need)});
        case FactForm::Word:
            break;
    }
    return Fact<std::string>::known(std::get<std::vector<std::string>>(term.need).front());
}

/// The facts that follow from assumptions; for example, a glibc version implies the C library, and
/// a platform implies an operating system and a processor.
void add_implied(std::map<std::string, std::string>& assumed) {
    if (assumed.contains("glibc"))
        assumed.emplace("libc", "glibc");
    const auto platform = assumed.find("platform");
    if (platform == assumed.end())
        return;
    const auto parts = split(platform->second, '-');
    if (parts.size() != 2)
        return;
    assumed.emplace("os", parts[0]);
    assumed.emplace("arch", parts[1] == "amd64"   ? "x86_64"
                            : parts[1] == "arm64" ? "aarch64"
                                                  : std::string{parts[1]});
}

Error contradiction(const std::string& assumption, std::string_view whose, const AnyFact& fact) {
    const auto have = joined(words_of(fact), ", ");
    return {ErrorCode::InvalidRequest, "assume: " + scrubbed(assumption, kMaxShown) + ": " +
                                           std::string{whose} + " has " +
                                           (have.empty() ? "none" : scrubbed(have, kMaxShown))};
}

/// Checks whether an assumption contradicts a known fact about the host.
Status check_host(const std::string& assumption, const Term& term, const Report& report) {
    const Facts host{{.report = report}};
    const auto& fact = host.at(term.fact);
    if (row_of(term.fact).is_callers)
        return Done{};
    if (is_probed(fact) && holds(term, host) != Truth::True)
        return contradiction(assumption, "this machine", fact);
    return Done{};
}

/// Checks whether an assumption contradicts a known fact about a GPU. GPUs from other vendors may
/// lack the assumed fact, but at least one GPU must be able to have it.
Status check_gpus(const std::string& assumption, const Term& term, const Report& report) {
    bool is_possible = false;
    for (const auto& gpu : report.gpus) {
        const Facts facts{{.report = report, .gpu = &gpu}};
        const auto& fact = facts.at(term.fact);
        const bool is_known = is_probed(fact) && !words_of(fact).empty();
        if (is_known && holds(term, facts) != Truth::True)
            return contradiction(assumption, gpu.id, fact);
        is_possible = is_possible || is_known || !is_probed(fact);
    }
    if (!is_possible)
        return Error{ErrorCode::InvalidRequest, "assume: " + scrubbed(assumption, kMaxShown) +
                                                    ": no GPU here can have this fact"};
    return Done{};
}

}  // namespace

std::optional<std::string> assumption_problem(std::string_view text) {
    const auto pieces = term_text(text);
    if (pieces.sign != "=" || pieces.value.empty())
        return "expected a fact and its value, such as glibc=2.39";
    const auto term = fact_term(pieces);
    if (!term)
        return term.error().text;
    const auto& row = row_of(term->fact);
    if (row.scope == FactScope::Backend)
        return scrubbed(pieces.name, kMaxShown) + ": a fact about a backend cannot be assumed";
    if (term->fact == FactId::Python && !is_python_version(pieces.value))
        return scrubbed(pieces.name, kMaxShown) + ": expected a Python version such as 3.12";
    if (pieces.value.find('*') != std::string_view::npos ||
        (row.type == FactForm::Word && pieces.value.find('|') != std::string_view::npos))
        return scrubbed(pieces.name, kMaxShown) + ": expected one value";
    return std::nullopt;
}

std::map<std::string, std::string> assumed_values(const std::vector<std::string>& assumptions) {
    std::map<std::string, std::string> values;
    for (const auto& assumption : assumptions) {
        const auto pieces = term_text(assumption);
        values[std::string{pieces.name}] = pieces.value;
    }
    return values;
}

Result<Report> assuming(const Report& report, const std::vector<std::string>& assumptions) {
    for (const auto& assumption : assumptions) {
        if (auto problem = assumption_problem(assumption))
            return Error{ErrorCode::InvalidRequest, "assume: " + *problem};
        const auto term = TRY(fact_term(term_text(assumption)));
        TRY(is_about_host(term) ? check_host(assumption, term, report)
                                : check_gpus(assumption, term, report));
    }
    auto with = report;
    with.assumed = assumed_values(assumptions);
    add_implied(with.assumed);
    return with;
}

std::optional<AnyFact> assumed_fact(const Report& report, const FactRow& row) {
    const auto found = report.assumed.find(std::string{row.key});
    if (found == report.assumed.end())
        return std::nullopt;
    const auto text = found->first + "=" + found->second;
    const auto term = fact_term(term_text(text));
    return term ? std::optional{fact_of(*term, found->second, row.type)} : std::nullopt;
}

}  // namespace gpuprobe::inline policy
