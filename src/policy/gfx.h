// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/truth.h"

/// AMD's processors: "gfx90a", with features "gfx90a:sramecc+:xnack-".
/// Source: LLVM, "User Guide for AMDGPU Backend", Target ID.
namespace gpuprobe::inline policy {

struct GfxTarget {
    std::string processor = {};                 ///< lower case; with X it names a family
    std::map<std::string, bool> features = {};  ///< xnack, sramecc
    bool operator==(const GfxTarget&) const = default;
};
/// nullopt unless it is "gfx", hexadecimal digits or X, or one of LLVM's generic processors, and
/// known features each once with a sign.
std::optional<GfxTarget> parse_text(std::string_view text, std::type_identity<GfxTarget>);
std::string text_of(const GfxTarget& target);

/// Family → its processors, as in the rules; of a family that is not in it, X stands for one
/// hexadecimal digit.
using GfxFamilies = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Whether code for `target` runs on `device`. A feature that the code fixes and the device does
/// not tell is unknown.
Truth runs_on(const GfxTarget& target, const GfxTarget& device, const GfxFamilies& families);

}  // namespace gpuprobe::inline policy
