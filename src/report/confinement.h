// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

/// The words of ProbeResult::confinement: what can hold a driver. docs/sandbox.md says what each
/// does.
namespace gpuprobe::confinement {

inline constexpr std::string_view kNamespaces = "namespaces";
inline constexpr std::string_view kLandlock = "landlock";  ///< then "-" and its version
inline constexpr std::string_view kNoReachingOut = "no-reaching-out";
inline constexpr std::string_view kKnownCalls = "known-calls";

/// Those without which a driver reaches what its user may. Namespaces are made by systemd's unit in
/// another way, and are more than the others need.
inline constexpr std::array kWanted = {kLandlock, kNoReachingOut, kKnownCalls};

}  // namespace gpuprobe::confinement
