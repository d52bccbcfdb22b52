// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/record.h"

namespace gpuprobe {

/// What a finding means to who wants to use the GPUs.
enum class Severity {
    Ok,       ///< nothing was found
    Info,     ///< good to know, as it is meant to be
    Warning,  ///< something does not work that could
    Error,    ///< a GPU or its usual API can't be used
};
constexpr std::array<EnumName<Severity>, 4> names_of(Severity) {
    return {{{Severity::Ok, "ok"},
             {Severity::Info, "info"},
             {Severity::Warning, "warning"},
             {Severity::Error, "error"}}};
}

/// One thing that keeps a GPU from being used, or could. Words and fixes are the client's.
struct Finding {
    std::string id = {};  ///< stable; docs/doctor.md has them all
    Severity severity = Severity::Info;
    std::optional<std::string> gpu = {};      ///< nullopt: of the machine
    Value evidence = Value{Value::Object{}};  ///< the facts it rests on; an object
    bool operator==(const Finding&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Finding& finding) {
    visit("id", finding.id);
    visit("severity", finding.severity);
    visit("gpu", finding.gpu);
    visit("evidence", finding.evidence);
}

}  // namespace gpuprobe
