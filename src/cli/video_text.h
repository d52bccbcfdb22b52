// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/show_text.h"
#include "explain/screen.h"
#include "report/report.h"

/// Texts about what GPUs can do with videos.

namespace gpuprobe::inline cli {

/// The table of `list --video`: a row for each GPU and codec, with the samples and the largest size
/// in each direction. GPUs without video facts have no row; "" if no GPU has any. Pure.
std::string video_table(const Report& report, const Screen& screen);

/// The section of `show --all` on a GPU: each codec and direction with all profiles, samples and
/// chroma formats. Empty without video facts. Pure.
FactList video_facts(const Gpu& gpu);

}  // namespace gpuprobe::inline cli
