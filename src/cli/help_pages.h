// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace gpuprobe::inline cli {

/// A help page as text.
struct HelpPage {
    std::string_view verb = {};  ///< name of the verb; "" for the overview
    std::string_view text = {};  ///< the text that help_text() returns
};

/// All pages. The function is generated when the project is built (help_pages_main.cpp), so that
/// the small gpuprobectl contains the help pages of all verbs but not the verbs themselves.
std::span<const HelpPage> help_pages();

}  // namespace gpuprobe::inline cli
