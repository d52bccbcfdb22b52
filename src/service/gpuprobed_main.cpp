// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "base/version.h"
#include "calls/surroundings.h"
#include "engine/engine.h"
#include "engine/knowledge_base.h"
#include "inventory/scan.h"
#include "service/admission.h"
#include "service/bus_session.h"
#include "service/daemon_process.h"
#include "service/socket_server.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoBus = "none";

struct Settings {
    std::string bus = "system";
    std::optional<std::string> socket = {};
    std::optional<std::string> replay = {};
    std::optional<std::string> worker = {};
    LaunchChoice launch = {};
    std::optional<std::string> cache_folder = {};
    std::optional<std::string> state_folder = {};
    std::optional<std::string> report_file = {};
    bool has_cache = true;
    bool verifies = false;
    std::vector<std::string> application_folders = {};
    std::string knowledge_root = {};
    TargetFolders drivers = {};
    unsigned settle_ms = 250;
    std::chrono::milliseconds deadline =
        std::chrono::duration_cast<std::chrono::milliseconds>(ProbeLimits{}.query);
    bool serves_switcheroo = false;
    LogLevel log_level = LogLevel::Info;
};

/// The exit code for the error that ended the daemon. Codes: sysexits.h.
int exit_code(const Error& error) {
    switch (error.code) {
        case ErrorCode::NotAuthorized:
            return EX_NOPERM;
        case ErrorCode::Unavailable:
            return EX_UNAVAILABLE;
        case ErrorCode::NotFound:
        case ErrorCode::Malformed:
            return EX_NOINPUT;
        default:
            return EX_SOFTWARE;
    }
}

/// The path of the worker: from --worker, or else next to this program; "" if this process never
/// starts workers itself. Errors: NotFound.
Result<std::string> worker_program(const Settings& settings) {
    // With a capture, no worker runs; in Socket mode, systemd starts the workers.
    if (settings.replay || settings.launch.mode == LaunchMode::Socket)
        return std::string{};
    std::error_code problem;
    const auto beside =
        fs::read_symlink("/proc/self/exe", problem).parent_path() / "gpuprobe-worker";
    const auto path = settings.worker.value_or(beside.string());
    if (::access(path.c_str(), X_OK) != 0)
        return Error{ErrorCode::NotFound, "no probe worker at " + path};
    return path;
}

/// The path in the environment variable `variable`, followed by the relative path `below`; nullopt
/// unless the variable contains an absolute path.
std::optional<std::string> folder_from(const char* variable, const char* below) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value != '/')
        return std::nullopt;
    return (fs::path{value} / below).lexically_normal().string();
}

/// The path of the home folder, followed by the relative path `below`; nullopt if the home folder
/// does not exist. The home folder is never created, because system accounts use /nonexistent on
/// purpose.
std::optional<std::string> home_folder(const char* below) {
    std::error_code problem;
    const auto home = folder_from("HOME", "");
    return home && fs::is_directory(*home, problem) ? folder_from("HOME", below) : std::nullopt;
}

/// The folder, created if missing; nullopt if the folder can't be used or if another user could
/// redirect files in it. A folder that isn't writable (for example after a disk error) is still
/// used, because its files are still valid.
std::optional<std::string> own_folder(const std::optional<std::string>& folder) {
    return folder && open_folder(*folder, FolderTrust::Own, MissingFolder::Make) ? folder
                                                                                 : std::nullopt;
}

/// The first folder that has a value.
std::optional<std::string> first_of(std::initializer_list<std::optional<std::string>> folders) {
    for (const auto& folder : folders)
        if (folder)
            return folder;
    return std::nullopt;
}

/// The folder for probe results and the drivers' caches: from --cache-dir, else systemd's
/// CacheDirectory=, else $XDG_CACHE_HOME/gpuprobe or ~/.cache/gpuprobe. nullopt if the folder can't
/// be used; in this case the daemon probes at each start.
std::optional<std::string> cache_folder(const Settings& settings) {
    if (!settings.has_cache || settings.replay)
        return std::nullopt;
    return own_folder(
        first_of({settings.cache_folder, folder_from("CACHE_DIRECTORY", ""),
                  folder_from("XDG_CACHE_HOME", "gpuprobe"), home_folder(".cache/gpuprobe")}));
}

/// The folder for overrides, outcomes and the quarantine: from --state-dir, else systemd's
/// StateDirectory=, else $XDG_STATE_HOME/gpuprobe or ~/.local/state/gpuprobe. With --replay only
/// --state-dir counts, because this machine's overrides don't apply to the captured machine.
std::optional<std::string> state_folder(const Settings& settings) {
    if (settings.replay || settings.state_folder)
        return own_folder(settings.state_folder);
    return own_folder(
        first_of({folder_from("STATE_DIRECTORY", ""), folder_from("XDG_STATE_HOME", "gpuprobe"),
                  home_folder(".local/state/gpuprobe")}));
}

/// A duplicate of the descriptor, whose number is above the numbers of the daemon's other locks.
/// When a process ends or becomes a worker, the kernel closes descriptors in ascending order, so
/// this descriptor is closed last. Source: Linux, fs/file.c, close_files and do_close_on_exec.
UniqueFd closed_last(UniqueFd descriptor) {
    constexpr int kHigh = 1000;
    UniqueFd high{::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kHigh)};
    return high ? std::move(high) : std::move(descriptor);
}

/// Locks the state folder against other daemons: another daemon would not know this daemon's
/// quarantine and would probe a quarantined driver. Waits a moment for a daemon that was just
/// killed. `gpuprobectl --direct` does not take the lock. Errors: Unavailable.
Result<UniqueFd> claim_of(const std::optional<std::string>& folder) {
    if (!folder)
        return UniqueFd{};
    auto lock = lock_file(*folder + "/daemon.lock", kAfterPredecessor);
    if (!lock)
        return UniqueFd{};  // not writable: continue; the report contains a warning
    if (!*lock)
        return Error{ErrorCode::Unavailable, *folder +
                                                 ": another gpuprobed uses this folder; stop it, "
                                                 "or choose another folder with --state-dir"};
    return closed_last(*std::move(lock));  // the next holder then finds all other locks free
}

/// The parent folder of the workers' folders, which also keeps the drivers' caches; "" if it can't
/// be used.
std::string cache_home_of_drivers(const std::optional<std::string>& folder) {
    if (!folder)
        return "";
    const auto home = fs::path{*folder} / "drivers";
    const auto made = open_folder(home.string(), FolderTrust::Own, MissingFolder::Make);
    return made && ::access(home.c_str(), W_OK) == 0 ? home.string() : "";
}

/// The names of an enumeration's values, for option checks.
template <class E>
std::vector<std::string> words_of(E) {
    std::vector<std::string> words;
    for (const auto& entry : names_of(E{}))
        words.emplace_back(entry.name);
    return words;
}

/// Adds the options for folders and files.
void add_places(CLI::App& app, Settings& settings) {
    app.add_option("--cache-dir", settings.cache_folder, "Folder for cached driver answers");
    app.add_option("--state-dir", settings.state_folder,
                   "Folder for overrides, outcomes and quarantines");
    app.add_option("--report-file", settings.report_file,
                   "File to which gpuprobed writes the output of export json (default: "
                   "$RUNTIME_DIRECTORY/report.json)");
    app.add_flag("!--no-cache", settings.has_cache,
                 "Disable the cache; probe the drivers at each start");
    app.add_option("--applications", settings.application_folders,
                   "Additional folder with application files; repeatable")
        ->check(CLI::ExistingDirectory);
    app.add_option("--knowledge-root", settings.knowledge_root,
                   "Root folder of the data files, instead of /")
        ->check(CLI::ExistingDirectory);
    app.add_option("--vulkan-drivers", settings.drivers.vulkan,
                   "Folder with Vulkan manifests, instead of the default folders; repeatable");
    app.add_option("--opencl-vendors", settings.drivers.opencl,
                   "Folder with .icd files, instead of /etc/OpenCL/vendors; repeatable");
}

/// Parses the command line. Exits for --help and --version, and with EX_USAGE on errors.
Settings settings_from(int argc, char** argv) {
    Settings settings;
    CLI::App app{"Reports the GPUs of this machine on D-Bus and a socket.", "gpuprobed"};
    app.set_version_flag("--version", "gpuprobed " + std::string{kVersion});
    app.add_option("--bus", settings.bus, "D-Bus bus: system, session, an address, or none")
        ->capture_default_str();
    app.add_option(
        "--socket", settings.socket,
        "Path of the socket for callers without D-Bus (default: the socket from systemd)");
    app.add_option("--replay", settings.replay, "Report the captured machine in this folder")
        ->check(CLI::ExistingDirectory);
    app.add_option("--worker", settings.worker, "Worker program that loads drivers");
    std::string mode{name_of(settings.launch.mode)};
    app.add_option("--launcher", mode,
                   "How to start workers: through systemd's socket, or as child processes")
        ->check(CLI::IsMember(words_of(LaunchMode{})))
        ->capture_default_str();
    app.add_option("--worker-socket", settings.launch.socket,
                   "Socket on which systemd starts workers")
        ->capture_default_str();
    app.add_option(
        "--worker-user", settings.launch.worker_user,
        "User that socket-activated workers run as, which determines the devices they may open");
    add_places(app, settings);
    app.add_flag("--verify", settings.verifies,
                 "Verify each GPU through each API once with a test computation, even if no client "
                 "requests it");
    app.add_option(
           "--settle-ms", settings.settle_ms,
           "Milliseconds to wait after the last hot-plug event before the drivers are probed")
        ->check(CLI::Range(0U, 10'000U))
        ->capture_default_str();
    auto deadline_ms = settings.deadline.count();
    app.add_option("--deadline-ms", deadline_ms, "Milliseconds that a driver may take to answer")
        ->check(CLI::Range(100, 300'000))
        ->capture_default_str();
    app.add_flag(
           "--switcheroo", settings.serves_switcheroo,
           "Also provide net.hadess.SwitcherooControl, so that switcheroo-control is not needed")
        ->envname("GPUPROBE_SWITCHEROO");
    // Enumerations are parsed as words and converted below.
    std::string level{name_of(settings.log_level)};
    app.add_option("--log-level", level, "Lowest priority of log entries")
        ->check(CLI::IsMember(words_of(LogLevel{})))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        if (problem.get_exit_code() == 0)  // --help, --version
            std::exit(app.exit(problem));
        std::fprintf(stderr, "gpuprobed: %s\nRun with --help for more information.\n",
                     scrubbed(problem.what(), 1024).c_str());
        std::exit(EX_USAGE);
    }
    settings.log_level = enum_from<LogLevel>(level).value_or(settings.log_level);
    settings.launch.mode = enum_from<LaunchMode>(mode).value_or(settings.launch.mode);
    settings.deadline = std::chrono::milliseconds{deadline_ms};
    return settings;
}

engine::EngineOptions engine_options(const Settings& settings,
                                     const std::optional<std::string>& cache,
                                     const std::optional<std::string>& state,
                                     Admission& admission) {
    engine::EngineOptions options;
    if (cache)
        options.cache_file = *cache + "/probes";
    options.state_folder = state;
    options.application_folders = engine::application_folders(settings.application_folders);
    options.knowledge = engine::KnowledgeFolders::below(settings.knowledge_root);
    options.settle = std::chrono::milliseconds{settings.settle_ms};
    options.limits.query = settings.deadline;
    options.limits.warn = options.limits.query / 3;
    options.folders = settings.drivers;
    add_from_environment(options.folders);
    options.watch_hardware = !settings.replay;
    options.verifies = settings.verifies;
    options.account_of = [&admission](std::uint32_t uid) {
        const auto payer = admission.payers.of(uid);
        return store::Outcomes::Account{.id = payer.id,
                                        .is_stranger = payer.standing == Standing::Stranger};
    };
    options.starts_ahead = !settings.worker;
    return options;
}

/// The machine to report on: with --replay a captured machine, otherwise this machine. If workers
/// run as another user, access to device nodes is checked for that user.
Result<engine::MachineSource> machine(const Settings& settings, const Log& log) {
    if (settings.replay)
        return engine::replayed_machine(*settings.replay);
    auto source = engine::live_machine();
    if (!settings.launch.uses_socket() || !settings.launch.worker_user)
        return source;
    const auto prober = user_named(*settings.launch.worker_user);
    if (prober)
        source.nodes = std::make_shared<LiveNodes>(prober);
    else
        log.write(LogLevel::Warning, "no such user: " + *settings.launch.worker_user);
    return source;
}

/// Makes glibc return large blocks to the kernel as soon as they are freed. By default each freed
/// large block raises the threshold, up to 32 MiB, below which glibc keeps memory: after 9,000
/// calls with hostile values 38 MiB stayed resident instead of 8 MiB. Source: mallopt(3),
/// M_MMAP_THRESHOLD.
void give_back_large_blocks() {
    constexpr int kLarge = 64 * 1024;
    ::mallopt(M_MMAP_THRESHOLD, kLarge);
    ::mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
}

/// Listens on the socket that systemd has passed or, if there is none, at the path in --socket (if
/// given). Errors: the same as SocketServer::listen() and adopt().
Status listen(const Settings& settings, SocketServer& socket) {
    if (sd_listen_fds(/*unset_environment=*/1) > 0)
        return socket.adopt(UniqueFd{SD_LISTEN_FDS_START});
    return settings.socket ? socket.listen(*settings.socket) : Done{};
}

/// Reads data files again, after SIGHUP or a change on the disk.
void reload(engine::Engine& engine, const Log& log) {
    sd_notify(0, "RELOADING=1");
    engine.reload();
    log.write(LogLevel::Info, "data files reloaded");
    sd_notify(0, "READY=1");
}

/// Watches the folders of the knowledge base. A bundle, package or data file that is installed
/// while the daemon runs causes a reload.
Result<std::unique_ptr<FolderWatch>> watch_knowledge(const Settings& settings,
                                                     EventLoop& loop,
                                                     Log& log,
                                                     std::function<void()> changed) {
    constexpr Duration kSettle = std::chrono::milliseconds{300};  // dpkg moves files one by one
    const auto folders = engine::KnowledgeFolders::below(settings.knowledge_root);
    auto watch =
        FolderWatch::begin(loop,
                           {folders.state, folders.package, folders.own, folders.own + "/causes",
                            folders.own + "/applications", folders.own + "/rules"},
                           {".bundle", ".json"}, kSettle, std::move(changed));
    if (!watch)
        log.write(LogLevel::Warning,
                  "changes of data files are not detected: " + watch.error().text);
    return watch;
}

/// Creates all parts, runs the event loop and returns the exit code. The bus name is acquired
/// before anything is probed, because D-Bus activation times out after 25 seconds.
Result<int> serve(const Settings& settings, Log& log) {
    auto source = TRY(machine(settings, log));
    auto captured = settings.replay ? TRY(captured_surroundings(*settings.replay))
                                    : std::optional<Surroundings>{};
    const auto worker = TRY(worker_program(settings));
    const auto cache = cache_folder(settings);
    const auto state = state_folder(settings);
    const auto claim = TRY(claim_of(state));  // locks the state folder until the end
    const auto files = source.files;
    const auto loop = TRY(SystemLoop::create());
    TRY(loop->stop_on_signals());
    const Watchdog watchdog{*loop};

    // The engine and its parts. Accounts are always from this machine, even with --replay.
    const SystemClock clock;
    const RootedFiles own_files;
    Admission admission{own_files, clock};  // outlives the engine, whose callbacks hold claims
    Launchers launchers{
        settings.launch, worker, cache_home_of_drivers(cache), [&log](const std::string& problem) {
            log.write(LogLevel::Warning, "cannot start a worker through the socket: " + problem);
        }};
    const auto engine = engine::Engine::create(std::move(source), *loop, launchers.chosen(), clock,
                                               engine_options(settings, cache, state, admission));

    // The interfaces: bus, report file and socket.
    CallServer server{*loop, *engine, *files, admission, std::move(captured)};
    BusSession session{settings.bus, bus::kBusName, *loop, server, log};
    engine->on_slow([&log](const std::string& line) { log.write(LogLevel::Warning, line); });
    std::optional<ReportFile> report_file;
    if (const auto path =
            first_of({settings.report_file, folder_from("RUNTIME_DIRECTORY", "report.json")}))
        report_file.emplace(*path, *engine, log);
    IdleMemory idle_memory{*loop, server};
    session.on_use([&idle_memory] { idle_memory.was_used(); });
    if (settings.serves_switcheroo)
        session.serve_switcheroo();
    SocketServer socket{*loop, server, [&session] { return session.authority(); }};
    socket.on_use([&idle_memory] { idle_memory.was_used(); });
    engine->on_change([&] {
        server.update();
        session.update();
        socket.update();
        if (report_file)
            report_file->update();
        idle_memory.has_changed();
    });

    // Start answering calls, then start probing.
    TRY(listen(settings, socket));
    if (settings.bus != kNoBus)
        TRY(session.start());
    TRY(loop->on_hangup([&] { reload(*engine, log); }));
    const auto watch = watch_knowledge(settings, *loop, log, [&] { reload(*engine, log); });
    engine->start();
    log.write(LogLevel::Info, "ready: " + std::to_string(engine->report().gpus.size()) + " GPUs");
    sd_notify(0, "READY=1");
    auto code = loop->run();
    sd_notify(0, "STOPPING=1");
    return code;
}

}  // namespace
}  // namespace gpuprobe::inline service

int main(int argc, char** argv) try {
    using namespace gpuprobe;
    give_back_large_blocks();
    shut_out_workers();
    const Settings settings = settings_from(argc, argv);
    Log log{"gpuprobed"};
    log.set_level(settings.log_level);
    log.set_target(Log::usual_target());
    const auto code = serve(settings, log);
    if (code)
        return *code;
    log.write(LogLevel::Error, code.error().text);
    return exit_code(code.error());
} catch (const std::exception& problem) {
    std::fprintf(stderr, "gpuprobed: %s\n", gpuprobe::scrubbed(problem.what(), 1024).c_str());
    return EX_SOFTWARE;
}
