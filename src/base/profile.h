// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpuprobe::inline base {

/// Whether this program has the profile "embed": a smaller program that leaves out some verbs and
/// methods (docs/packaging.md). The linker drops the code that only those verbs and methods need.
/// src/CMakeLists.txt sets the macro for the source files that depend on the profile.
#ifdef GPUPROBE_EMBED
inline constexpr bool kIsEmbed = true;
#else
inline constexpr bool kIsEmbed = false;
#endif

}  // namespace gpuprobe::inline base
