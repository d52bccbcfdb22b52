// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "explain/checks.h"

namespace gpuprobe {

/// The details of the GPU's findings of one code.
Evidence findings(const Gpu& gpu, ReasonCode code);

/// What its APIs say with one code, each with `api`, `driver` and what the driver wrote. Nobody
/// asks the APIs of a GPU that only shows pictures, or of one that no driver serves here.
Evidence said(const Gpu& gpu, ReasonCode code);
Evidence said_by(const Gpu& gpu, std::string_view api, ReasonCode code);

/// The details of its backends' reasons of one code, equal ones once.
Evidence judged(const Gpu& gpu, ReasonCode code);

Evidence when(bool holds, Value::Object evidence);

/// Adds a `case`, which selects the words for it.
Evidence in_case(Evidence found, std::string_view name);

void add_once(Evidence& found, Value evidence);

/// Whether the API lists the GPU.
bool answers(const Gpu& gpu, std::string_view api);

}  // namespace gpuprobe
