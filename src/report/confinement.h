// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

/// The words in ProbeResult::confinement: mechanisms that can confine a driver. docs/sandbox.md
/// explains each of them.
namespace gpuprobe::confinement {

inline constexpr std::string_view kNamespaces = "namespaces";
inline constexpr std::string_view kLandlock = "landlock";  ///< followed by "-" and the ABI version
inline constexpr std::string_view kNoReachingOut = "no-reaching-out";
inline constexpr std::string_view kKnownCalls = "known-calls";

/// The mechanisms that must apply to every driver; without one of them, a driver can access
/// everything that its user can. Namespaces are left out: systemd's unit creates them in another
/// way, and the other mechanisms do not depend on them.
inline constexpr std::array kWanted = {kLandlock, kNoReachingOut, kKnownCalls};

}  // namespace gpuprobe::confinement
