// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "explain/screen.h"

namespace gpuprobe::inline cli {

/// One line on standard error that replaces itself, and is gone when the work is done. Nothing when
/// standard error is no terminal, or with --quiet.
class ProgressLine {
public:
    explicit ProgressLine(const Arguments& arguments);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(std::string_view what);
    /// With a bar; `share` is clamped to 0–1.
    void show(std::string_view what, double share);
    void clear();

private:
    Screen screen_;
    bool is_wanted_ = false;
    bool is_shown_ = false;
};

/// "[=====     ]" of ten places, or its Unicode form.
std::string bar(double share, bool is_unicode);

}  // namespace gpuprobe::inline cli
