// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "explain/doctor.h"
#include "explain/screen.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// Everything that the report says about one GPU, in groups. Unknown facts are left out. `now` is
/// what the age of free memory counts to. `found` are the doctor's of the report. Pure.
std::string show_text(const Gpu& gpu,
                      const Report& report,
                      const std::vector<Finding>& found,
                      WallTime now,
                      const Screen& screen);
/// The same of an accelerator.
std::string show_text(const Accelerator& accelerator,
                      const std::vector<Finding>& found,
                      const Screen& screen);

/// "350.5 of 600 W", "of 600 W" where only the limit is known; nullopt where nothing is.
std::optional<std::string> power_words(const AcceleratorPower& power);
/// "45.5 °C", in whatever the screen can show.
std::optional<std::string> temperature_words(const AcceleratorPower& power, const Screen& screen);

}  // namespace gpuprobe::inline cli
