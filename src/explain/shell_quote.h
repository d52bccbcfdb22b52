// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gpuprobe::inline explain {

/// The text as one word that a POSIX shell and systemd's EnvironmentFile= read alike: as it is
/// where that is safe, else in single quotes. A single quote inside is written as '"'"', which the
/// shell joins and systemd (which joins adjacent quoted strings too) reads the same. Source:
/// POSIX.1-2017, XCU 2.2; systemd.exec(5), EnvironmentFile=.
std::string shell_quoted(std::string_view text);

}  // namespace gpuprobe::inline explain
