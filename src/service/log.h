// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/record.h"

namespace gpuprobe::inline service {

/// Log levels with the numeric values of syslog(3).
enum class LogLevel { Emergency, Alert, Critical, Error, Warning, Notice, Info, Debug };
/// The names from org.freedesktop.LogControl1(5).
constexpr std::array<EnumName<LogLevel>, 8> names_of(LogLevel) {
    return {{{LogLevel::Emergency, "emerg"},
             {LogLevel::Alert, "alert"},
             {LogLevel::Critical, "crit"},
             {LogLevel::Error, "err"},
             {LogLevel::Warning, "warning"},
             {LogLevel::Notice, "notice"},
             {LogLevel::Info, "info"},
             {LogLevel::Debug, "debug"}}};
}

enum class LogTarget { Console, Journal, Null };
constexpr std::array<EnumName<LogTarget>, 3> names_of(LogTarget) {
    return {{{LogTarget::Console, "console"},
             {LogTarget::Journal, "journal"},
             {LogTarget::Null, "null"}}};
}

/// The daemon's log. Only the daemon's own code writes to it; the libraries below do not log.
class Log {
public:
    explicit Log(std::string identifier) : identifier_{std::move(identifier)} {}

    /// Writes one entry if `level` is enabled. Control characters in `text` are replaced.
    void write(LogLevel level, std::string_view text) const;

    [[nodiscard]] LogLevel level() const { return level_; }
    void set_level(LogLevel level) { level_ = level; }
    [[nodiscard]] LogTarget target() const { return target_; }
    void set_target(LogTarget target) { target_ = target; }
    [[nodiscard]] const std::string& identifier() const { return identifier_; }

    /// Journal if systemd has connected stderr to the journal, else Console. Source:
    /// systemd.exec(5), $JOURNAL_STREAM.
    static LogTarget usual_target();

private:
    std::string identifier_;
    LogLevel level_ = LogLevel::Info;
    LogTarget target_ = LogTarget::Console;
};

}  // namespace gpuprobe::inline service
