// SPDX-License-Identifier: Apache-2.0
#include "knowledge/setup_words.h"

#include <algorithm>
#include <functional>

#include "knowledge/documents.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kSetupSchema = "gpuprobe.setup/1";

struct SetupDocument {
    std::string schema = {};
    std::vector<std::string> modules = {};
    std::vector<std::string> command_line = {};
    std::vector<std::string> parameters = {};
    std::vector<std::string> nvidia_parameters = {};
};

RECORD_MEMBERS(SetupDocument, schema, modules, command_line, parameters, nvidia_parameters)

Status check(const SetupDocument& document) {
    for (const auto& parameter : document.parameters)
        if (const auto dot = parameter.find('.');
            dot == 0 || dot >= parameter.size() - 1 || parameter.find('/') != std::string::npos)
            return Error{ErrorCode::Malformed,
                         "parameters: " + parameter + ": expected MODULE.PARAMETER"};
    return Done{};
}

}  // namespace

const SetupWords& SetupWords::current() {
    return made_of_documents(
        [](const Library& library) { return table_of<SetupWords>(library, "setup"); });
}

Result<SetupWords> SetupWords::from(std::string_view json) {
    auto document = TRY(document_from<SetupDocument>(json, kSetupSchema));
    TRY(check(document));
    std::ranges::sort(document.modules);
    return SetupWords{.modules = std::move(document.modules),
                      .command_line = std::move(document.command_line),
                      .parameters = std::move(document.parameters),
                      .nvidia_parameters = std::move(document.nvidia_parameters)};
}

bool SetupWords::has_module(std::string_view name) const {
    return std::ranges::binary_search(modules, name, std::less<std::string_view>{});
}

}  // namespace gpuprobe::knowledge
