// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/truth.h"

/// AMD's target ids: "gfx90a", with features "gfx90a:sramecc+:xnack-".
/// Source: LLVM, "User Guide for AMDGPU Backend", Target ID.
namespace gpuprobe::inline policy {

/// A target id.
struct GfxTarget {
    std::string processor = {};                 ///< lower case; an X makes it a family
    std::map<std::string, bool> features = {};  ///< xnack, sramecc
    bool operator==(const GfxTarget&) const = default;
};
/// nullopt unless the text is a processor ("gfx" with hexadecimal digits or X, or one of LLVM's
/// generic processors) followed by known features, each at most once and with a sign.
std::optional<GfxTarget> parse_text(std::string_view text, std::type_identity<GfxTarget>);
std::string text_of(const GfxTarget& target);

/// Maps a family to its processors, from the rules. In a family that isn't listed, X matches one
/// hexadecimal digit.
using GfxFamilies = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Whether code for `target` runs on `device`. Unknown if the code requires a feature setting that
/// the device does not report.
Truth runs_on(const GfxTarget& target, const GfxTarget& device, const GfxFamilies& families);

}  // namespace gpuprobe::inline policy
