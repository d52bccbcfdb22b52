// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace gpuprobe::inline cli {

/// A page of the help as text.
struct HelpPage {
    std::string_view verb = {};  ///< "" for the overview
    std::string_view text = {};  ///< as help_text() returns it
};

/// All pages. The function is generated when the project is built (help_pages_main.cpp), so that
/// the front program has the pages but not the verbs.
std::span<const HelpPage> help_pages();

}  // namespace gpuprobe::inline cli
