// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "explain/doctor.h"
#include "report/caller.h"

namespace gpuprobe::inline calls {

/// Why GPUs are not used, as the daemon tells a caller on every door: of the report that the caller
/// may see. `environment` is of the program that the caller asks for. Nothing surrounds a captured
/// machine. The caller's account is looked up in /etc/passwd alone: another directory may take a
/// while. What the caller's security label keeps it from, no report of the host's says.
std::vector<Finding> findings_for(const Caller& caller,
                                  const std::map<std::string, std::string>& environment,
                                  const Report& seen,
                                  const FileSystem& files);

/// What surrounds this process, with its account. Looks the account up, which may take a while.
Surroundings own_surroundings(const FileSystem& files);

/// Why GPUs are not used by what the report says, for the account of this process, which is looked
/// up. What else surrounds it, its variables and the kernel's log, is doctor's to tell.
std::vector<Finding> own_findings(const Report& report);

/// Where reasons are told to the account of this process; both are borrowed.
ReasonPlace own_place(const Report& report, const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline calls
