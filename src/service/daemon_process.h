// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/record.h"
#include "base/result.h"
#include "engine/engine.h"
#include "policy/rules.h"
#include "probe/socket_worker.h"
#include "report/access.h"

namespace gpuprobe::inline service {

class CallServer;

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

/// The daemon's log. Only the daemon's own code writes to the log; the components that the daemon
/// uses do not log.
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

    /// Journal if systemd has connected stderr to the journal, otherwise Console. Source:
    /// systemd.exec(5), $JOURNAL_STREAM.
    static LogTarget usual_target();

private:
    std::string identifier_;
    LogLevel level_ = LogLevel::Info;
    LogTarget target_ = LogTarget::Console;
};

/// Sends keep-alive messages to systemd's watchdog while the event loop runs, if the unit has
/// WatchdogSec=. Source: sd_watchdog_enabled(3).
class Watchdog {
public:
    explicit Watchdog(EventLoop& loop);

private:
    void feed();

    EventLoop& loop_;
    Duration pause_ = {};
    EventHandle next_ = {};
};

/// How the daemon starts workers.
enum class LaunchMode {
    Auto,    ///< through the socket, or as our children if the socket is missing or fails
    Socket,  ///< only through the socket; a failure becomes the probe's result
    Spawn,   ///< as our children
};
constexpr std::array<EnumName<LaunchMode>, 3> names_of(LaunchMode) {
    return {
        {{LaunchMode::Auto, "auto"}, {LaunchMode::Socket, "socket"}, {LaunchMode::Spawn, "spawn"}}};
}

struct LaunchChoice {
    LaunchMode mode = LaunchMode::Auto;
    std::string socket = "/run/gpuprobe/worker.sock";
    /// user account of the workers that the socket starts
    std::optional<std::string> worker_user = {};
    /// Whether workers will be started through the socket, assuming that this depends only on
    /// whether the socket exists now.
    [[nodiscard]] bool uses_socket() const;
};

/// Owns the daemon's launchers and selects the launcher to use.
class Launchers {
public:
    /// `program` and `cache_home` are for workers that are our children (SpawnLauncher).
    Launchers(const LaunchChoice& choice,
              std::string program,
              std::string cache_home,
              SocketLauncher::Complaint complaint);
    [[nodiscard]] Launcher& chosen();

private:
    SpawnLauncher spawn_;
    std::unique_ptr<SocketLauncher> socket_ = {};  ///< borrows spawn_
};

/// The user with this name and all its groups; nullopt if the user does not exist.
std::optional<Caller> user_named(const std::string& name);

/// Writes the report file, which contains only data that all users may read (as `gpuprobectl export
/// json` prints it). The systemd units that keep a fleet's files up to date wait for this file, and
/// systemd-report sends it. The file is written only after the drivers were probed, and only if
/// something other than dates has changed.
class ReportFile {
public:
    ReportFile(std::string path, const engine::Engine& engine, Log& log);

    /// Call this when the report has changed. A failure to write is logged.
    void update();

private:
    std::string path_;
    const engine::Engine& engine_;
    Log& log_;
    Rules rules_ = {};
    std::string written_ = {};
};

/// An in-memory file with `content` that can no longer be changed, positioned at its start.
/// Sources: memfd_create(2); fcntl(2), F_ADD_SEALS. Errors: Io.
Result<UniqueFd> sealed_file(const char* name, std::string_view content);

/// Returns free memory to the kernel. glibc keeps the memory that many simultaneous callers needed:
/// after 200 connections with 250 calls each, 88 MB stayed resident, of which 1.3 MB were in use.
class IdleMemory {
public:
    /// Parsed data files, views of the report and most cached answers are dropped after kAfterUse
    /// without a call, or after kAfterChange without a change of the report. They are created again
    /// when they are needed.
    static constexpr Duration kAfterUse = std::chrono::seconds{3};
    static constexpr Duration kAfterChange = std::chrono::milliseconds{250};

    /// Trims the heap after each answer that `server` computes. `loop` and `server` must outlive
    /// this object, which must outlive all calls.
    IdleMemory(EventLoop& loop, CallServer& server);

    /// Call some time after an answer.
    void was_used();
    /// Call after each change of the report.
    void has_changed();

private:
    void has_computed();
    void release();

    EventLoop& loop_;
    CallServer& server_;
    std::size_t left_free_ = 0;  ///< bytes that were free after has_computed() had trimmed the heap
    EventHandle after_use_ = {};
    EventHandle after_change_ = {};
};

}  // namespace gpuprobe::inline service
