// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/show_text.h"
#include "explain/screen.h"
#include "report/report.h"

/// Texts about the videos that GPUs can decode and encode.

namespace gpuprobe::inline cli {

/// The table of `list --video`: a row for each GPU and codec, with the samples and the largest size
/// for decoding and encoding. GPUs without video facts have no row. The result is "" if no GPU has
/// video facts. This function is pure.
std::string video_table(const Report& report, const Screen& screen);

/// The section of `show --all` about a GPU's video facts: each codec and direction with all
/// profiles, samples and chroma formats. The section is empty if the GPU has no video facts. This
/// function is pure.
FactList video_facts(const Gpu& gpu);

}  // namespace gpuprobe::inline cli
