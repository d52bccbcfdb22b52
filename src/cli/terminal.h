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

/// What the running process writes to on that descriptor: terminal, width, locale. "auto" gives
/// colour on a terminal that is not "dumb" and when NO_COLOR is unset or empty (no-color.org).
Screen screen_of(int descriptor, ColourMode mode);

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

/// The text as a terminal may get it: printable (base/characters.h) but for line feeds, tabs and
/// the sequences that this program writes itself. Everything that people read passes through here.
std::string terminal_text(std::string_view text);

/// "[=====     ]" of ten places, or its Unicode form.
std::string bar(double share, bool is_unicode);

/// False when somebody interrupted it.
bool sleep_for(std::chrono::milliseconds time);

/// The program through which a text on a terminal is read that is longer than the terminal:
/// $GPUPROBE_PAGER, $PAGER, or less where it is installed. "" and "cat" are none.
class Pager {
public:
    Pager() = default;
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;
    /// Waits until it has been left.
    ~Pager();
    /// Starts it, and standard output goes there. Where that fails, nothing changes.
    void start();

private:
    pid_t pid_ = -1;
};

}  // namespace gpuprobe::inline cli
