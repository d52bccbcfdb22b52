// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The distribution, from /etc/os-release or, if this file is missing, from /usr/lib/os-release
/// (os-release(5)); nullopt if neither file can be read. Synology's DSM is recognized by
/// /etc.defaults/VERSION. The 64-bit Raspberry Pi OS has Debian's os-release, but is recognized by
/// /etc/rpi-issue. The 64-bit Raspberry Pi OS is reported as "raspbian", which is the id of the
/// 32-bit version. Source: RPi-Distro/pi-gen a46065d9, export-image/05-finalise/01-run.sh.
std::optional<OsRelease> os_release_of(const FileSystem& files);

/// The application sandbox of this process, which is "flatpak", "snap" or "toolbox" (also for
/// distrobox, which uses the same name); nullopt outside a sandbox. Sources: flatpak-metadata(5),
/// /.flatpak-info; containers/toolbox, /run/.toolboxenv; snapd names AppArmor's profiles
/// "snap.NAME.APP".
std::optional<std::string> sandbox_of(const FileSystem& files);

/// The version of Python that /usr/bin/python3 starts, such as "3.11". The version is part of the
/// name of the file to which the symbolic link leads; nullopt if this name contains no version. The
/// function does not execute Python.
std::optional<std::string> python_of(const FileSystem& files);

/// The part of a file that the functions in this header use. Only files with much unrelated content
/// have such a part: the kernel's command line, os-release and modprobe.d. nullopt for other files.
std::optional<std::string> setup_part(std::string_view path, std::string_view content);

/// The kernel's parameters, security settings and graphics modules. `kernel` is the release of the
/// kernel whose modules are looked up, as `uname -r` prints it. Source: kernel-command-line,
/// modprobe.d(5), proc(5).
KernelSetup kernel_setup(const FileSystem& files, const std::optional<std::string>& kernel);

}  // namespace gpuprobe::inline inventory
