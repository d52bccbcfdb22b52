// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/show_text.h"
#include "explain/screen.h"
#include "report/report.h"

/// Output about the video formats that GPUs can decode and encode.

namespace gpuprobe::inline cli {

/// The output of `list --video`: a table with a row for each GPU and codec, with the samples and
/// the largest size for decoding and encoding, then the reasons why formats are unknown. A GPU
/// without formats has one row. GPUs with the same name and the same formats share rows, unless
/// `shows_all` is set. The result is "" if there are no GPUs. This function is pure.
std::string video_table(const Report& report, bool shows_all, const Screen& screen);

/// The section of `show --all` about a GPU's video facts: each codec and direction with all
/// profiles, samples and chroma formats, and the engines that the chip lacks. The section is empty
/// if the GPU has no video facts. This function is pure.
FactList video_facts(const Gpu& gpu);

/// The line of `show` about the main codecs that a GPU decodes and encodes, such as "video decode
/// h264 hevc", "encode h264" or "encode none". Empty if no API reports formats. This function is
/// pure.
std::vector<std::string> video_parts(const Gpu& gpu);

}  // namespace gpuprobe::inline cli
