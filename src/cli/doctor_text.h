// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "explain/doctor.h"
#include "explain/screen.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// For people: what was found, by GPU, with what helps.
std::string doctor_text(const Report& report,
                        const std::vector<Finding>& findings,
                        const Screen& screen);

/// A commented shell script of the commands that are safe on this machine. It is for reading first.
std::string fix_script(const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline cli
