// SPDX-License-Identifier: Apache-2.0
#include "knowledge/causes.h"

#include <algorithm>
#include <iterator>

#include "knowledge/documents.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kSchema = "gpuprobe.causes/1";

struct Document {
    std::string schema = {};
    std::map<std::string, std::string> variables = {};
    std::vector<std::string> log = {};
    std::vector<Cause> causes = {};
};

}  // namespace

template <class Visitor>
void describe(Visitor& visit, Remedy& remedy) {
    visit("when", remedy.when);
    visit("case", remedy.case_name);
    visit("text", remedy.text);
    visit("fix", remedy.fix);
    visit("run", remedy.run);
    std::optional<bool> is_safe;
    std::optional<bool> is_for_host;
    visit("safe", is_safe);
    visit("on_host", is_for_host);
    remedy.is_safe = is_safe.value_or(false);
    remedy.is_for_host = is_for_host.value_or(false);
}

template <class Visitor>
void describe(Visitor& visit, Cause& cause) {
    visit("id", cause.id);
    visit("of", cause.of);
    visit("from", cause.from);
    visit("once", cause.once);
    visit("when", cause.when);
    visit("unless", cause.unless);
    visit("show", cause.show);
    std::optional<bool> is_alone;
    visit("alone", is_alone);
    cause.is_alone = is_alone.value_or(false);
    visit("severity", cause.severity);
    visit("eased", cause.eased);
    visit("text", cause.text);
    visit("fixes", cause.fixes);
}

namespace {

template <class Visitor>
void describe(Visitor& visit, Document& document) {
    visit("schema", document.schema);
    visit("variables", document.variables);
    visit("log", document.log);
    visit("causes", document.causes);
}

}  // namespace

const Causes& Causes::current() {
    return made_of_documents([](const Library& library) {
        Causes causes;
        for (const auto& [name, document] : library.below("causes"))
            if (!causes.add(document->json))
                (void)causes.add(compiled_in_text("causes/" + name));
        return causes;
    });
}

Status Causes::add(std::string_view json) {
    auto document = TRY(document_from<Document>(json, kSchema));
    for (auto& cause : document.causes)
        causes_.push_back(std::move(cause));
    variables_.merge(document.variables);
    std::ranges::move(document.log, std::back_inserter(log_words_));
    return Done{};
}

}  // namespace gpuprobe::knowledge
