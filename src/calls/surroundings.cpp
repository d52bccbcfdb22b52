// SPDX-License-Identifier: Apache-2.0
#include "calls/surroundings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <set>
#include <span>

#include <gpuprobe/gpuprobe.h>
#include <sys/klog.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/accounts.h"
#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "calls/methods.h"
#include "engine/probed_machine.h"
#include "policy/causes.h"

namespace gpuprobe::inline calls {
namespace {

// Limits on reading, because other users may control some of the files.
constexpr std::size_t kMaxListed = 64;
constexpr std::size_t kMaxText = 256;
constexpr std::size_t kMaxOwnGroups = 1024;
constexpr std::size_t kMaxLogLines = 512;
constexpr Bytes kMaxAccounts = mib(1);
constexpr Bytes kMaxSpec = mib(1);  ///< limit for each CDI specification, and for all together
/// Folders of programs. Source: file-hierarchy(7); the last folder exists only on NixOS.
constexpr std::array kProgramFolders{"/usr/bin", "/usr/local/bin", "/usr/sbin",
                                     "/run/current-system/sw/bin"};
/// Folders of implicit Vulkan layers. Source: the Vulkan loader, docs/LoaderLayerInterface.md,
/// "Linux Layer Discovery".
constexpr std::array kLayerFolders{"/etc/vulkan/implicit_layer.d",
                                   "/usr/local/share/vulkan/implicit_layer.d",
                                   "/usr/share/vulkan/implicit_layer.d"};
/// The file in a capture that describes the environment of the process that made the capture: its
/// container, sandbox and variables (docs/internals/capture.md).
constexpr std::string_view kCapturedSurroundings = "/surroundings.json";
/// Folders of CDI specifications. Source: CDI specification, "OCI runtime discovery".
constexpr std::array kCdiFolders{"/etc/cdi", "/var/run/cdi"};
/// Lists the files in `folders` whose names end in one of the suffixes; at most kMaxListed paths.
std::vector<std::string> listed(const FileSystem& files,
                                std::span<const char* const> folders,
                                std::initializer_list<std::string_view> endings) {
    std::vector<std::string> found;
    for (const std::string folder : folders) {
        auto names = files.list(folder);
        if (!names)
            continue;  // most machines lack some of the folders
        std::ranges::sort(*names);
        for (const auto& name : *names) {
            const bool fits = std::ranges::any_of(
                endings, [&name](std::string_view ending) { return name.ends_with(ending); });
            if (fits && found.size() < kMaxListed)
                found.push_back(scrubbed(folder + "/" + name, kMaxText));
        }
    }
    return found;
}

/// The groups that an account has in /etc/group: how many of these groups the process has, and the
/// names of the groups that the process lacks. A process lacks groups that were added after the
/// login.
struct GroupsOfAccount {
    std::size_t held = 0;
    std::vector<std::string> missing = {};
};

/// Looks up the account's groups. `own` contains the ids of the groups that the process has.
GroupsOfAccount groups_of(const FileSystem& files,
                          std::string_view account,
                          const std::vector<std::uint32_t>& own) {
    GroupsOfAccount groups;
    const auto text = files.read("/etc/group", kMaxAccounts);
    for (const auto line : split(text ? std::string_view{*text} : std::string_view{}, '\n')) {
        // A line is name:password:gid:member,member. Source: group(5).
        const auto columns = split(line, ':');
        const auto id = columns.size() == 4 ? parse_number<gid_t>(columns[2]) : std::nullopt;
        if (!id || std::ranges::count(split(columns[3], ','), account) == 0)
            continue;
        if (std::ranges::find(own, *id) != own.end())
            ++groups.held;
        else if (groups.missing.size() < kMaxListed)
            groups.missing.push_back(scrubbed(columns[0], kMaxText));
    }
    return groups;
}

/// If the process has none of the account's groups, records this as a separate fact. The likely
/// cause is a container that drops groups, or an account that got its first groups after the login,
/// rather than a login that is older than one of the groups.
void add_groups(const GroupsOfAccount& groups, Surroundings& here) {
    here.new_groups = groups.missing;
    here.has_no_group = !groups.missing.empty() && groups.held == 0;
}

/// Compares the groups of this process with the groups of its account.
void add_own_groups(const FileSystem& files, Surroundings& here) {
    const auto account = user_name(::getuid());
    std::vector<gid_t> own(kMaxOwnGroups);
    const int count = ::getgroups(static_cast<int>(own.size()), own.data());
    if (!account || count < 0)
        return;
    own.resize(static_cast<std::size_t>(count));
    own.push_back(::getegid());
    add_groups(groups_of(files, *account, own), here);
}

/// The name of the account with the id `user`. Source: passwd(5).
std::optional<std::string> account_of(const FileSystem& files, uid_t user) {
    const auto text = files.read("/etc/passwd", kMaxAccounts);
    for (const auto line : split(text ? std::string_view{*text} : std::string_view{}, '\n')) {
        const auto columns = split(line, ':');
        if (columns.size() == 7 && parse_number<uid_t>(columns[2]) == user)
            return std::string{columns[0]};
    }
    return std::nullopt;
}

/// Compares the groups of a caller, which may be unknown, with the groups of the caller's account.
void add_groups_of(const Caller& caller, const FileSystem& files, Surroundings& here) {
    if (const auto account = caller.groups ? account_of(files, caller.uid) : std::nullopt)
        add_groups(groups_of(files, *account, *caller.groups), here);
}

/// Driver versions in library paths such as "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05".
std::vector<std::string> drivers_named_in(const FileSystem& files,
                                          const std::vector<std::string>& specs) {
    constexpr std::string_view kLibrary = "libcuda.so.";
    std::set<std::string> versions;
    auto left = kMaxSpec;
    for (const auto& path : specs) {
        // The limit applies to all specifications together.
        const auto text = files.read(path, left);
        left.count -= text ? text->size() : 0;
        for (auto at = text ? text->find(kLibrary) : std::string::npos; at != std::string::npos;
             at = text->find(kLibrary, at + 1)) {
            const auto rest = std::string_view{*text}.substr(at + kLibrary.size());
            const auto version = rest.substr(0, rest.find_first_not_of("0123456789."));
            // "libcuda.so.1" is the soname, not a version.
            if (version.find('.') != std::string_view::npos && versions.size() < kMaxListed)
                versions.insert(scrubbed(version, kMaxText));
        }
    }
    return {versions.begin(), versions.end()};
}

/// Returns the programs that the causes refer to and that are installed. Names are searched for in
/// kProgramFolders; paths are checked directly.
std::vector<std::string> programs_in(const FileSystem& files) {
    std::vector<std::string> found;
    const auto is_there = [&files](const std::string& name) {
        return name.starts_with('/')
                   ? files.exists(name)
                   : std::ranges::any_of(kProgramFolders, [&](const char* folder) {
                         return files.exists(std::string{folder} + "/" + name);
                     });
    };
    std::ranges::copy_if(Causes::current().programs(), std::back_inserter(found), is_there);
    return found;
}

/// Whether a Flatpak sandbox permits access to the daemon's bus name: by a policy for that name, or
/// because the sandbox has access to the whole system bus. Source: flatpak-metadata(5), "[System
/// Bus Policy]" and `sockets`.
bool lets_daemon_through(std::string_view flatpak_info) {
    const auto name = std::string{kInterface} + ".";  // the bus name is "org.gpuprobe.GpuProbe1"
    std::string_view section;
    for (const auto line : split(flatpak_info, '\n')) {
        if (line.starts_with('['))
            section = trimmed(line);
        const auto equals = std::min(line.find('='), line.size());
        const auto key = trimmed(line.substr(0, equals));
        const auto value = trimmed(line.substr(std::min(equals + 1, line.size())));
        if (section == "[System Bus Policy]" && key.starts_with(name) &&
            (value == "talk" || value == "own"))
            return true;
        if (section == "[Context]" && key == "sockets" &&
            std::ranges::count(split(value, ';'), "system-bus") > 0)
            return true;
    }
    return false;
}

/// Whether this process can reach a daemon: through the daemon's socket, through a Flatpak's proxy
/// for the bus, or through the system bus.
bool reaches_daemon(const FileSystem& files) {
    if (files.exists(GPUPROBE_SOCKET))
        return true;
    if (const auto info = files.read("/.flatpak-info", kMaxSpec))
        return lets_daemon_through(*info);
    return files.exists("/run/dbus/system_bus_socket");
}

/// The last lines about graphics drivers in the kernel log; empty if the log may not be read
/// (kernel.dmesg_restrict). Source: syslog(2).
std::vector<std::string> kernel_log() {
    constexpr int kReadAll = 3;
    constexpr int kMost = 1 << 20;
    const auto& about = Causes::current().log_words();
    std::string text(kMost, '\0');
    const int size = ::klogctl(kReadAll, text.data(), kMost);
    std::vector<std::string> lines;
    if (size <= 0)
        return lines;
    text.resize(static_cast<std::size_t>(size));
    for (const auto line : split(text, '\n'))
        if (std::ranges::any_of(about, [line](const std::string& word) {
                return line.find(word) != std::string_view::npos;
            }))
            lines.push_back(scrubbed(line, kMaxText));
    if (lines.size() > kMaxLogLines)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMaxLogLines));
    return lines;
}

/// Describes the environment of a process on the running machine, except for its account and
/// groups. `variable` looks up an environment variable of the described process, like getenv(3).
/// Members that cannot be read stay unknown.
Surroundings surroundings_here(const FileSystem& files,
                               const std::function<const char*(const char* name)>& variable) {
    Surroundings here{.vulkan_layers = listed(files, kLayerFolders, {".json"}),
                      .cdi_specs = listed(files, kCdiFolders, {".json", ".yaml", ".yml"}),
                      .programs = programs_in(files),
                      .reaches_daemon = reaches_daemon(files),
                      .has_wsl_libraries = files.exists("/usr/lib/wsl/lib"),
                      .at = SystemClock{}.wall(),
                      .kernel_log = kernel_log()};
    // Only variables that change which GPUs a program sees are copied.
    here.cdi_drivers = drivers_named_in(files, here.cdi_specs);
    for (const auto& [name, kind] : Causes::current().variables())
        if (const char* value = variable(name.c_str()))
            here.environment.emplace(name, scrubbed(value, kMaxText));
    return here;
}

}  // namespace

std::vector<Finding> findings_for(const Caller& caller,
                                  const std::map<std::string, std::string>& environment,
                                  const Report& seen,
                                  const FileSystem& files,
                                  const std::optional<Surroundings>& captured) {
    if (seen.source == ReportSource::Replay)
        return examine(seen, captured.value_or(Surroundings{}));
    auto here = surroundings_here(files, [&environment](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
    here.is_root = caller.uid == kRoot;
    // The security label stays unknown, because the label of this process isn't the caller's
    // label.
    add_groups_of(caller, files, here);
    return examine(seen, here);
}

Surroundings own_surroundings(const FileSystem& files) {
    auto here =
        surroundings_here(files, [](const char* name) -> const char* { return std::getenv(name); });
    here.is_root = ::geteuid() == 0;
    rlimit limit{};
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        here.memlock = Bytes{limit.rlim_cur};
    add_own_groups(files, here);
    if (const auto label = files.line("/proc/self/attr/current"))
        here.security_label = scrubbed(*label, kMaxText);
    return here;
}

Result<std::optional<Surroundings>> captured_surroundings(const std::string& folder) {
    const std::string file{kCapturedSurroundings};
    auto document = engine::captured_document(RootedFiles{folder}, file);
    if (!document)
        return std::move(document).error().in("capture " + folder);
    if (!*document)
        return std::optional<Surroundings>{};
    // Captures that other versions of gpuprobe made may lack members or have additional members.
    auto value = to_value(Surroundings{});
    for (auto& member : *value.as_object())
        if (const auto& recorded = (*document)->at(member.key); !recorded.is_null())
            member.value = recorded;
    auto here = record_from<Surroundings>(value);
    if (!here)
        return std::move(here).error().in("capture " + folder + ": " + file);
    return std::optional{std::move(here).value()};
}

Status add_to_capture(const std::string& folder,
                      const Surroundings& here,
                      engine::Redaction* mask) {
    auto document = to_value(here);
    if (mask)
        document = mask->masked_document(std::move(document));
    return write_atomically(folder + std::string{kCapturedSurroundings}, json_pretty(document));
}

ReasonPlace own_place(const Report& report, const std::vector<Finding>& findings) {
    ReasonPlace place{.findings = &findings, .machine = &report};
    if (report.source != ReportSource::Replay)
        place.is_root = ::geteuid() == 0;
    return place;
}

std::vector<Finding> own_findings(const Report& report) {
    Surroundings here;
    if (report.source != ReportSource::Replay) {
        here.is_root = ::geteuid() == 0;
        here.at = SystemClock{}.wall();
        add_own_groups(RootedFiles{}, here);
    }
    return examine(report, here);
}

}  // namespace gpuprobe::inline calls
