// SPDX-License-Identifier: Apache-2.0
#include "knowledge/setup_words.h"

#include <algorithm>
#include <functional>

#include "knowledge/documents.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kSetupSchema = "gpuprobe.setup/1";

struct SetupDocument : SetupWords {
    std::string schema = {};
};

RECORD_MEMBERS(SetupDocument, schema, modules, command_line, parameters, nvidia_parameters)

/// Checks that parameters have the form MODULE.PARAMETER and cannot lead out of /sys/module.
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
    return table_in_use<SetupWords>("setup");
}

Result<SetupWords> SetupWords::from(std::string_view json) {
    auto document = TRY(document_from<SetupDocument>(json, kSetupSchema));
    TRY(check(document));
    // has_module() uses binary search.
    std::ranges::sort(document.modules);
    return SetupWords{std::move(document)};
}

bool SetupWords::has_module(std::string_view name) const {
    return std::ranges::binary_search(modules, name, std::less<std::string_view>{});
}

}  // namespace gpuprobe::knowledge
