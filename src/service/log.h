// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/record.h"

namespace gpuprobe::inline service {

/// As syslog(3) counts them.
enum class LogLevel { Emergency, Alert, Critical, Error, Warning, Notice, Info, Debug };
/// The words of org.freedesktop.LogControl1(5).
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

/// The daemon's log. Only the program writes to it; the rooms do not log.
class Log {
public:
    explicit Log(std::string identifier) : identifier_{std::move(identifier)} {}

    /// One entry; control characters in `text` are replaced.
    void write(LogLevel level, std::string_view text) const;

    [[nodiscard]] LogLevel level() const { return level_; }
    void set_level(LogLevel level) { level_ = level; }
    [[nodiscard]] LogTarget target() const { return target_; }
    void set_target(LogTarget target) { target_ = target; }
    [[nodiscard]] const std::string& identifier() const { return identifier_; }

    /// Journal when systemd has connected stderr to it, else Console. Source: systemd.exec(5),
    /// $JOURNAL_STREAM.
    static LogTarget usual_target();

private:
    std::string identifier_;
    LogLevel level_ = LogLevel::Info;
    LogTarget target_ = LogTarget::Console;
};

}  // namespace gpuprobe::inline service
