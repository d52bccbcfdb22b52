// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "engine/redaction.h"
#include "explain/doctor.h"
#include "report/access.h"

namespace gpuprobe::inline calls {

/// Returns the doctor's findings for a caller of the daemon, which are the same on every interface.
/// The findings are based on `seen`, the report as the caller may see it. `environment` contains
/// the variables of the program that the caller asks about. If the machine is a capture, `captured`
/// contains the environment that the capture describes.
///
/// Accounts are looked up only in /etc/passwd, because other account databases may take a while to
/// answer. The caller's security label isn't examined, because the host's report does not contain
/// the restrictions that the label causes.
std::vector<Finding> findings_for(const Caller& caller,
                                  const std::map<std::string, std::string>& environment,
                                  const Report& seen,
                                  const FileSystem& files,
                                  const std::optional<Surroundings>& captured = {});

/// Describes the environment of this process, including its account. Looking up the account may
/// take a while.
Surroundings own_surroundings(const FileSystem& files);

/// The container, sandbox and variables of the process that made a capture; nullopt if the capture
/// does not contain them. Errors: Malformed or TooLarge.
Result<std::optional<Surroundings>> captured_surroundings(const std::string& folder);

/// Writes `here` into the folder of a capture, redacted if `mask` isn't null. Errors: Io or
/// PermissionDenied.
Status add_to_capture(const std::string& folder, const Surroundings& here, engine::Redaction* mask);

/// The doctor's findings based on the report and on this process's account, which the function
/// looks up. Variables and the kernel's log aren't examined; only the verb `doctor` examines them.
std::vector<Finding> own_findings(const Report& report);

/// The context in which reasons are explained to this process's account. The result borrows both
/// arguments.
ReasonPlace own_place(const Report& report, const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline calls
