// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The distribution, from /etc/os-release, else /usr/lib/os-release (os-release(5)); nullopt if
/// neither can be read. Synology's DSM is recognized by /etc.defaults/VERSION. The 64-bit Raspberry
/// Pi OS has the os-release of Debian and is recognized by /etc/rpi-issue; it is reported as
/// "raspbian", the id of the 32-bit version. Source: RPi-Distro/pi-gen a46065d9,
/// export-image/05-finalise/01-run.sh.
std::optional<OsRelease> os_release_of(const FileSystem& files);

/// The application sandbox of this process: "flatpak", "snap" or "toolbox" (also distrobox, which
/// uses the same name); nullopt outside one. Sources: flatpak-metadata(5), /.flatpak-info;
/// containers/toolbox, /run/.toolboxenv; snapd names AppArmor's profiles "snap.NAME.APP".
std::optional<std::string> sandbox_of(const FileSystem& files);

/// The version of the Python that /usr/bin/python3 starts, "3.11", from the name of the file to
/// which the link leads; nullopt if no link leads to a name with a version. Executes nothing.
std::optional<std::string> python_of(const FileSystem& files);

/// For a file that contains much else (the kernel's command line, os-release, modprobe.d): the part
/// of the file that the functions in this header use. nullopt for other files.
std::optional<std::string> setup_part(std::string_view path, std::string_view content);

/// The kernel's parameters, security settings and graphics modules. `kernel` is the release whose
/// modules are looked up, as `uname -r` prints it. Source: kernel-command-line, modprobe.d(5),
/// proc(5).
KernelSetup kernel_setup(const FileSystem& files, const std::optional<std::string>& kernel);

}  // namespace gpuprobe::inline inventory
