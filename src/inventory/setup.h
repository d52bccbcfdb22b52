// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// os-release(5): /etc/os-release, else /usr/lib/os-release. nullopt where neither can be read.
/// Raspberry Pi OS of 64 bits calls itself Debian there, and is known by /etc/rpi-issue: it is
/// "raspbian" here, as that of 32 bits calls itself. Source: RPi-Distro/pi-gen a46065d9,
/// export-image/05-finalise/01-run.sh.
std::optional<OsRelease> os_release_of(const FileSystem& files);

/// "flatpak", "snap" or "toolbox", which distrobox calls itself too; nullopt outside one.
/// Source: flatpak-metadata(5), /.flatpak-info; containers/toolbox, /run/.toolboxenv; snapd names
/// AppArmor's profiles "snap.NAME.APP".
std::optional<std::string> sandbox_of(const FileSystem& files);

/// The part of a file that the functions here use, of those that hold much else: the kernel's
/// command line, os-release, modprobe.d; nullopt for other files.
std::optional<std::string> setup_part(std::string_view path, std::string_view content);

/// How the kernel was started and what it may load. `kernel` is the release whose modules are
/// looked for, as `uname -r` has it. Source: kernel-command-line, modprobe.d(5), proc(5).
KernelSetup kernel_setup(const FileSystem& files, const std::optional<std::string>& kernel);

}  // namespace gpuprobe::inline inventory
