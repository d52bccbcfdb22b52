// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "explain/screen.h"

namespace gpuprobe::inline cli {

struct Arguments;

enum class ColourMode { Auto, Always, Never };

/// The properties of the terminal or file behind a descriptor: whether it is a terminal, its width,
/// the locale's character set, and colors. ColourMode::Auto enables colors on a terminal that is
/// not "dumb" if NO_COLOR is unset or empty (no-color.org).
Screen screen_of(int descriptor, ColourMode mode);

/// A progress line on standard error. It overwrites itself and is erased when the work is done.
/// Prints nothing if standard error is not a terminal, or with --quiet.
class ProgressLine {
public:
    explicit ProgressLine(const Arguments& arguments);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(std::string_view what);
    /// Shows a progress bar too; `share` is clamped to 0–1.
    void show(std::string_view what, double share);
    void clear();

private:
    Screen screen_;
    bool is_wanted_ = false;
    bool is_shown_ = false;
};

/// The text without characters that could control a terminal: printable ones (base/text.h),
/// line feeds, tabs, and the escape sequences that this program writes itself are kept. All text
/// output passes through here.
std::string terminal_text(std::string_view text);

/// A progress bar of twenty places, "[=====     ]", or its Unicode form.
std::string bar(double share, bool is_unicode);

/// Sleeps for that time. Returns false if SIGINT or SIGTERM interrupted it.
bool sleep_for(std::chrono::milliseconds time);

/// A pager for text that is longer than the terminal: $GPUPROBE_PAGER, $PAGER, or less if it is
/// installed. If the variable is "" or "cat", no pager is used.
class Pager {
public:
    Pager() = default;
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;
    /// Waits until the user has left the pager.
    ~Pager();
    /// Starts the pager and redirects standard output to it. If that fails, nothing changes.
    void start();

private:
    pid_t pid_ = -1;
};

}  // namespace gpuprobe::inline cli
