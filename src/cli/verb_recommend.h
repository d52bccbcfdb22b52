// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cli/context.h"
#include "policy/decision.h"
#include "policy/manifest.h"

namespace gpuprobe::inline cli {

/// The recommendation that the command line requests. Errors: the same as for the method Recommend;
/// an error about a malformed file contains the name of the file.
Result<Recommendation> recommended(Context& context);
/// The recommendation for another installed application.
Result<Recommendation> recommended(Context& context, const std::string& application);

/// The text of the manifest at `path`, which is a file, a pipe, or "-" for standard input. A pipe
/// can be read only once. Errors: Io, NotFound or PermissionDenied; TooLarge if the manifest is
/// longer than kMaxManifest.
Result<std::string> manifest_text(const std::string& path);

/// The manifest that the command line names, or the installed manifest of its application. Errors:
/// the errors of ApplicationSet::no_manifest(), and those of parse_manifest() and manifest_text()
/// with the path of the file.
Result<Manifest> wanted_manifest(const Arguments& arguments);

enum class Installer { Pip, Uv };

/// The command that installs the variant, for a shell; "" if the variant isn't a Python package.
std::string install_command(const Recommendation& answer, Installer installer);

/// The packages that must be uninstalled before the variant is installed, in a sentence; "" if
/// there are none.
std::string exclusion_text(const Recommendation& answer);

/// A message about the closest variant if no variant fits, such as "the closest variant is cu130:
/// …". nullopt if the answer names no variant.
std::optional<std::string> closest_variant_text(const Recommendation& answer);

}  // namespace gpuprobe::inline cli
