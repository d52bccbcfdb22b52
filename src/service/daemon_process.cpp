// SPDX-License-Identifier: Apache-2.0
#include "service/daemon_process.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION  // otherwise the location would always be this file
#include <malloc.h>
#include <systemd/sd-journal.h>

#include "base/files.h"
#include "base/text.h"
#include "base/version.h"
#include "explain/doctor.h"
#include "export/formats.h"
#include "service/call_server.h"

namespace gpuprobe::inline service {
namespace {

constexpr std::size_t kMaxEntry = 4096;

/// Writes "IDENTIFIER: LEVEL: TEXT" to stderr.
void to_console(LogLevel level, const std::string& identifier, const std::string& text) {
    const auto word = name_of(level);
    std::fprintf(stderr, "%s: %.*s: %s\n", identifier.c_str(), static_cast<int>(word.size()),
                 word.data(), text.c_str());
}

}  // namespace

void Log::write(LogLevel level, std::string_view text) const {
    if (level > level_ || target_ == LogTarget::Null)  // higher values are less important
        return;
    const auto entry = scrubbed(text, kMaxEntry);
    // If the journal does not accept the entry, write the entry to stderr.
    if (target_ == LogTarget::Journal) {
        const int sent =
            sd_journal_send("MESSAGE=%s", entry.c_str(), "PRIORITY=%d", static_cast<int>(level),
                            "SYSLOG_IDENTIFIER=%s", identifier_.c_str(), nullptr);
        if (sent == 0)
            return;
    }
    to_console(level, identifier_, entry);
}

LogTarget Log::usual_target() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    return stream != nullptr && *stream != '\0' ? LogTarget::Journal : LogTarget::Console;
}

Watchdog::Watchdog(EventLoop& loop) : loop_{loop} {
    std::uint64_t limit_usec = 0;
    if (sd_watchdog_enabled(/*unset_environment=*/0, &limit_usec) <= 0)
        return;
    // Half of the limit, as sd_watchdog_enabled(3) recommends.
    pause_ = Duration{static_cast<Duration::rep>(limit_usec / 2)};
    feed();
}

void Watchdog::feed() {
    sd_notify(/*unset_environment=*/0, "WATCHDOG=1");
    next_ = loop_.after(pause_, [this] { feed(); });
}

namespace {

constexpr std::size_t kUserBuffer = 16384;
constexpr int kMaxGroups = 1024;

}  // namespace

bool LaunchChoice::uses_socket() const {
    if (mode == LaunchMode::Auto)
        return ::access(socket.c_str(), F_OK) == 0;
    return mode == LaunchMode::Socket;
}

Launchers::Launchers(const LaunchChoice& choice,
                     std::string program,
                     std::string cache_home,
                     SocketLauncher::Complaint complaint)
    : spawn_{std::move(program), std::move(cache_home)} {
    // In Socket mode there is no fallback, so that workers never run without systemd's sandbox.
    auto* stand_in = choice.mode == LaunchMode::Auto ? &spawn_ : nullptr;
    if (choice.uses_socket())
        socket_ = std::make_unique<SocketLauncher>(choice.socket, stand_in, std::move(complaint));
}

Launcher& Launchers::chosen() {
    if (socket_)
        return *socket_;
    return spawn_;
}

std::optional<Caller> user_named(const std::string& name) {
    std::vector<char> buffer(kUserBuffer);
    passwd entry = {};
    passwd* found = nullptr;
    if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return std::nullopt;
    std::vector<gid_t> groups(kMaxGroups);
    int count = kMaxGroups;
    if (::getgrouplist(name.c_str(), entry.pw_gid, groups.data(), &count) < 0)
        count = kMaxGroups;  // more groups than any real user has: use only the first kMaxGroups
    groups.resize(static_cast<std::size_t>(count));
    return Caller{.uid = entry.pw_uid,
                  .groups = std::vector<std::uint32_t>{groups.begin(), groups.end()}};
}

ReportFile::ReportFile(std::string path, const engine::Engine& engine, Log& log)
    : path_{std::move(path)}, engine_{engine}, log_{log} {
    if (auto rules = Rules::builtin())
        rules_ = std::move(rules).value();
}

void ReportFile::update() {
    // Until the drivers have been probed, the report is incomplete.
    const auto& report = engine_.report();
    if (report.state == ReportState::Starting || report.state == ReportState::Probing)
        return;
    const auto exported = write_json({.report = report,
                                      .rules = rules_,
                                      .version = std::string{kVersion},
                                      .findings = summary_of(examine(report, {}))});
    if (!exported.text || is_same_export(*exported.text, written_))
        return;
    if (const auto written = write_atomically(path_, *exported.text); !written)
        return log_.write(LogLevel::Warning, written.error().text);
    written_ = *exported.text;
}

Result<UniqueFd> sealed_file(const char* name, std::string_view content) {
    UniqueFd file{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!file)
        return errno_error(name, errno);
    // A write may be interrupted or may stop early.
    while (!content.empty()) {
        const ssize_t written = ::write(file.get(), content.data(), content.size());
        if (written < 0 && errno != EINTR)
            return errno_error(name, errno);
        if (written > 0)
            content.remove_prefix(static_cast<std::size_t>(written));
    }
    // The last seal prevents the receiver from changing the seals.
    constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (::lseek(file.get(), 0, SEEK_SET) != 0 || ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
        return errno_error(name, errno);
    return file;
}

// IdleMemory --------------------------------------------------------------------------------------

namespace {

/// Bytes on the heap that are free; part of them may have been returned to the kernel.
std::size_t free_on_heap() {
    return ::mallinfo2().fordblks;
}

void trim_heap() {
    constexpr std::size_t kWorthTrimming = std::size_t{256} << 10U;
    if (free_on_heap() > kWorthTrimming)
        (void)::malloc_trim(0);
}

}  // namespace

IdleMemory::IdleMemory(EventLoop& loop, CallServer& server) : loop_{loop}, server_{server} {
    server.on_computed([this] { has_computed(); });
}

void IdleMemory::has_computed() {
    constexpr std::size_t kWorthTrimming = std::size_t{1} << 20U;
    const auto now_free = free_on_heap();
    left_free_ = std::min(left_free_, now_free);
    if (now_free - left_free_ < kWorthTrimming)
        return;
    (void)::malloc_trim(0);
    left_free_ = free_on_heap();
}

void IdleMemory::was_used() {
    trim_heap();
    after_use_ = loop_.after(kAfterUse, [this] { release(); });
}

void IdleMemory::has_changed() {
    trim_heap();
    after_change_ = loop_.after(kAfterChange, [this] { release(); });
}

void IdleMemory::release() {
    after_use_.reset();
    after_change_.reset();
    server_.release_memory();
    (void)::malloc_trim(0);
}

}  // namespace gpuprobe::inline service
