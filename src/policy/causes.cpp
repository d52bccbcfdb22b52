// SPDX-License-Identifier: Apache-2.0
#include "policy/causes.h"

#include <algorithm>
#include <iterator>

#include "knowledge/library.h"

namespace gpuprobe::inline policy {
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
               severity,
               eased,
               text,
               fixes)

namespace {

RECORD_MEMBERS(CausesDocument, schema, variables, programs, log, causes)

}  // namespace

const Causes& Causes::current() {
    return knowledge::made_of_documents([](const knowledge::Library& library) {
        Causes causes;
        // Use the compiled-in version of a data file that is malformed.
        for (const auto& [name, document] : library.below("causes"))
            if (!causes.add(document->json))
                (void)causes.add(knowledge::compiled_in_text("causes/" + name));
        return causes;
    });
}

Status Causes::add(std::string_view json) {
    auto document = TRY(knowledge::document_from<CausesDocument>(json, kCausesSchema));
    for (auto& cause : document.causes) {
        // Index the causes by the reason codes that their evidence is filtered by:
        // "reasons[code=…]".
        for (const auto& from : cause.from)
            for (const auto& step : from.steps)
                for (const auto& filter : step.filter)
                    if (!filter.path.steps.empty() && filter.path.steps.back().name == "code")
                        for (const auto& code : filter.words)
                            by_code_[code].push_back(causes_.size());
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
    // Then add the causes that replace one of those found.
    const auto resting = found.size();
    for (const auto& cause : causes_)
        for (std::size_t i = 0; i < resting; ++i)
            if (std::ranges::count(cause.instead_of, found[i]->id) > 0)
                found.push_back(&cause);
    return found;
}

}  // namespace gpuprobe::inline policy
