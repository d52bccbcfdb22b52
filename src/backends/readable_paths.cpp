// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <unistd.h>

#include "backends/sandbox.h"
#include "base/files.h"
#include "base/text.h"
#include "probe/worker_sandbox.h"
#include "report/api_table.h"

namespace gpuprobe::backends {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

constexpr Bytes kMaxLinkerCache = mib(8);

/// Folders in which systems keep programs and libraries. Sources: file-hierarchy(7); Nix, Guix,
/// snapd, Flatpak; NVIDIA's driver folders on Container-Optimized OS and GKE.
constexpr std::array kSystemFolders = {
    "/usr",
    "/usr/local",  // a link to /var/usrlocal if /usr is read-only
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/app",
    "/snap",
    "/gnu/store",
    "/nix/store",
    "/.singularity.d/libs",
    "/system",  // for Android drivers
    "/vendor",
    "/var/lib/flatpak/runtime",
    "/var/lib/snapd/lib",
    "/var/lib/snapd/hostfs/usr",
    "/var/lib/nvidia",
    "/var/lib/pciutils",
    "/home/kubernetes/bin/nvidia",
};

/// Entries of /etc that drivers and the C library read; a final "*" matches anything. None of these
/// entries is readable only by root. Sources: ld.so(8), nsswitch.conf(5), and the documentation of
/// glvnd, the Vulkan and OpenCL loaders, libva, Mesa's drirc, and the drivers from NVIDIA, AMD and
/// Intel.
constexpr std::array<std::string_view, 33> kOfEtc = {
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "ld-musl-*",
    "OpenCL",
    "vulkan",
    "xdg/vulkan",
    "nvidia/nvidia-application-profile-globals-rc",
    "nvidia/nvidia-application-profiles-rc",
    "nvidia/nvidia-application-profiles-rc.d",
    "amd*",
    "ati",
    "rocm*",
    "hip*",
    "intel*",
    "igfx_user_feature*",
    "cuda*",
    "drirc",
    "libva.conf",
    "glvnd",
    "egl",
    "gbm",
    "pocl",
    "alternatives",
    "localtime",
    "locale.alias",
    "os-release",
    "passwd",
    "group",
    "nsswitch.conf",
    "nv_tegra_release",
    "udev/hwdb.bin",
};

/// The readable entries of /proc: all entries except the folders of processes and the files that
/// only root may read. Source: proc(5).
constexpr std::array kOfProc = {
    "/proc/self",    "/proc/buddyinfo", "/proc/bus/pci", "/proc/cgroups",     "/proc/cmdline",
    "/proc/cpuinfo", "/proc/devices",   "/proc/driver",  "/proc/filesystems", "/proc/interrupts",
    "/proc/loadavg", "/proc/meminfo",   "/proc/misc",    "/proc/modules",     "/proc/stat",
    "/proc/sys",     "/proc/uptime",    "/proc/version", "/proc/vmstat",      "/proc/zoneinfo",
};

/// Folders below /sys, without debugfs, tracefs, crash logs (pstore), and the variables and tables
/// of the firmware.
constexpr std::array kOfSys = {
    "/sys/bus",       "/sys/class",      "/sys/dev",
    "/sys/fs/cgroup", "/sys/hypervisor", "/sys/firmware/devicetree",
    "/sys/kernel/mm", "/sys/module",     "/sys/kernel/iommu_groups",
};

/// Suffixes of the names of environment variables whose values are files or folders.
constexpr std::array<std::string_view, 9> kPathVariables = {
    "_PATH", "_DIR", "_DIRS", "_FILES", "_FILENAMES", "_VENDORS", "_DRIVERS", "_ROOT", "_HOME"};
/// Prefixes of the names of variables that gpuprobe itself sets to its own folders. The values of
/// these variables aren't searched for paths.
constexpr std::array<std::string_view, 4> kOwnVariables = {"XDG_", "POCL_CACHE_", "CUDA_CACHE_",
                                                           "OCL_ICD_VENDORS"};

/// Whether a name matches a pattern of kOfEtc.
bool fits(std::string_view name, std::string_view pattern) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                  : name == pattern;
}

/// The paths in a folder; none if the folder cannot be read.
Paths children(const std::string& folder) {
    Paths found;
    std::error_code ignored;
    for (auto entry = fs::directory_iterator{folder, ignored}; entry != fs::directory_iterator{};
         entry.increment(ignored))
        found.push_back(entry->path().string());
    return found;
}

void add(Paths& paths, const Paths& more) {
    paths.insert(paths.end(), more.begin(), more.end());
}

/// Adds the system's folders and the entries of /etc below `root` ("" or the host's root in a
/// container).
void add_system(const std::string& root, Paths& paths) {
    for (const auto* folder : kSystemFolders)
        paths.push_back(root + folder);
    for (const auto name : kOfEtc)
        if (!name.ends_with('*'))
            paths.push_back(root + "/etc/" + std::string{name});
    // A Landlock rule needs an existing path, so expand the patterns now.
    for (const auto& path : children(root + "/etc"))
        if (std::ranges::any_of(kOfEtc, [&](std::string_view pattern) {
                return pattern.ends_with('*') && fits(fs::path{path}.filename().string(), pattern);
            }))
            paths.push_back(path);
}

/// The readable part of /sys: kOfSys and the devices, without the firmware's DMI tables, which
/// contain serial numbers (/sys/class/dmi links to them).
Paths of_sys() {
    Paths paths{kOfSys.begin(), kOfSys.end()};
    for (const auto& path : children("/sys/devices"))
        if (path != "/sys/devices/virtual")
            paths.push_back(path);
    for (const auto& path : children("/sys/devices/virtual"))
        if (path != "/sys/devices/virtual/dmi")
            paths.push_back(path);
    return paths;
}

/// The readable part of /run. Some containers mount the host's whole root at /run/host; in these
/// containers, only the folders that would be readable on the host are added.
Paths of_run() {
    constexpr std::string_view kHost = "/run/host";
    Paths paths;
    for (const auto* folder : kRunPlaces)
        if (folder != kHost)
            paths.emplace_back(folder);
    std::error_code ignored;
    if (fs::exists(kHost, ignored))
        add_system(std::string{kHost}, paths);
    return paths;
}

std::string folder_of(const std::string& path) {
    return fs::path{path}.parent_path().string();
}

/// Resolves links, which takes time at every start of a worker. Most libraries are in a few
/// folders, so resolved folders are remembered, and a link to a file in the same folder is followed
/// without resolving the folder again.
class Resolver {
public:
    /// The path without links; nullopt if the path does not exist.
    std::optional<std::string> operator()(const std::string& path) {
        const auto& folder = folder_without_links(folder_of(path));
        if (!folder)
            return std::nullopt;
        std::error_code problem;
        auto file = fs::path{*folder} / fs::path{path}.filename();
        if (const auto target = fs::read_symlink(file, problem); !problem) {
            if (target.has_parent_path())
                return canonical(file);
            file.replace_filename(target);
        }
        const auto type = fs::symlink_status(file, problem).type();
        if (type == fs::file_type::symlink)
            return canonical(file);
        return type == fs::file_type::not_found ? std::nullopt : std::optional{file.string()};
    }

private:
    static std::optional<std::string> canonical(const fs::path& path) {
        std::error_code problem;
        const auto real = fs::canonical(path, problem);
        return problem ? std::nullopt : std::optional{real.string()};
    }
    const std::optional<std::string>& folder_without_links(const std::string& folder) {
        const auto [known, is_new] = folders_.try_emplace(folder);
        if (is_new)
            known->second = canonical(folder);
        return known->second;
    }

    std::map<std::string, std::optional<std::string>> folders_ = {};
};

/// Adds the install tree of a path that the job, a variable or the linker cache names. Relative and
/// missing paths are ignored.
void add_named(const std::string& path, Resolver& resolved, Paths& paths) {
    if (!path.starts_with('/'))
        return;
    const auto real = resolved(path);
    if (!real)
        return;
    std::error_code ignored;
    const bool is_folder = fs::is_directory(*real, ignored);
    const auto tree = install_tree(is_folder ? *real : folder_of(*real));
    if (!tree.empty())
        paths.push_back(tree);
    if (!is_folder)
        paths.push_back(*real);
}

/// Whether a file is the library of one of our APIs. A library of an API in a system folder may be
/// a link to a file outside this folder.
bool is_of_an_api(std::string_view path) {
    const auto name = path.substr(path.rfind('/') + 1);
    return std::ranges::any_of(kApis, [name](const ApiInfo& api) {
        const auto starts = words(api.libraries);
        return std::ranges::any_of(
            starts, [name](std::string_view start) { return name.starts_with(start); });
    });
}

/// Paths from glibc's linker cache, which ends in a table of NUL-terminated library paths: the
/// APIs' libraries in system folders, and the folders of all libraries elsewhere.
Paths named_by_linker_cache() {
    std::set<std::string> paths;
    const auto cache = RootedFiles{}.read("/etc/ld.so.cache", kMaxLinkerCache);
    for (const auto text : split(cache ? std::string_view{*cache} : std::string_view{}, '\0')) {
        const bool is_of_system = text.starts_with("/usr/") || text.starts_with("/lib");
        if (is_of_system && is_of_an_api(text))
            paths.emplace(text);
        if (text.starts_with('/') && !is_of_system)
            paths.insert(folder_of(std::string{text}));
    }
    return {paths.begin(), paths.end()};
}

/// Whether the value of a variable of that name is a list of paths that drivers read.
bool names_paths(std::string_view name) {
    return std::ranges::any_of(kPathVariables,
                               [name](std::string_view end) { return name.ends_with(end); }) &&
           std::ranges::none_of(kOwnVariables,
                                [name](std::string_view start) { return name.starts_with(start); });
}

/// The paths in this process's environment variables, which the user may have set to find drivers.
Paths named_by_variables() {
    Paths paths;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text = *entry;
        const auto equals = std::min(text.find('='), text.size());
        if (equals < text.size() && names_paths(text.substr(0, equals)))
            for (const auto path : split(text.substr(equals + 1), ':'))
                paths.emplace_back(path);
    }
    return paths;
}

/// The number of leading path components that form a user's home folder; 0 if the path isn't in a
/// home folder. `names` are the components of an absolute path.
std::size_t home_length(const Paths& names) {
    if (names.empty())
        return 0;
    if (names[0] == "root")
        return 1;
    if (names[0] == "home" || names[0] == "Users")
        return 2;
    if (names[0] == "var" && names.size() > 1 && names[1] == "roothome")
        return 2;
    return names[0] == "var" && names.size() > 1 && names[1] == "home" ? 3 : 0;
}

/// Whether the folder of the first `count` components may be made readable as a whole. Home folders
/// and folders that the whole system shares may not be made readable.
bool is_of_one_program(const Paths& names, std::size_t count) {
    static const std::set<std::string> kShared = {"boot", "dev", "etc",  "export", "home", "media",
                                                  "mnt",  "nix", "proc", "root",   "run",  "srv",
                                                  "sys",  "tmp", "usr",  "var",    "net",  "Users"};
    static const std::set<std::string> kSharedBelowVar = {
        "backups", "cache", "crash", "db",    "home", "lib",      "lock", "log",
        "mail",    "opt",   "run",   "spool", "tmp",  "roothome", "local"};
    if (count == 0 || (count == 1 && kShared.contains(names[0])))
        return false;
    if (count == 2 && names[0] == "var" && kSharedBelowVar.contains(names[1]))
        return false;
    if (count == 2 && names[0] == "run" && names[1] == "user")
        return false;
    // Inside a home folder, "~/rocm" is acceptable, but "~/.local" holds files of many programs.
    const auto home = home_length(names);
    if (home == 0)
        return true;
    const bool is_hidden = names.size() > home && names[home].starts_with('.');
    return count > home + (is_hidden ? 1U : 0U);
}

/// The absolute path of the first `count` components.
std::string start_of(const Paths& names, std::size_t count) {
    std::string path;
    for (std::size_t i = 0; i < count; ++i)
        path += "/" + names[i];
    return path;
}

}  // namespace

std::string install_tree(const std::string& folder) {
    static const std::set<std::string> kParts = {"bin",   "drivers", "etc",   "lib",
                                                 "lib32", "lib64",   "share", "targets"};
    Paths names;
    for (const auto name : split(folder, '/'))
        if (!name.empty())
            names.emplace_back(name);
    if (!is_of_one_program(names, names.size()))
        return {};
    // For a Python package, the tree is the whole site-packages folder, which also contains the
    // packages that the package depends on.
    const auto packages = std::ranges::find(names, "site-packages");
    if (packages != names.end())
        return start_of(names, static_cast<std::size_t>(packages - names.begin()) + 1);
    // The tree is the folder above the last component with a name such as "lib" or "share".
    for (auto count = names.size(); count > 0; --count)
        if (kParts.contains(names[count - 1]) && is_of_one_program(names, count - 1))
            return start_of(names, count - 1);
    return folder;
}

std::vector<std::string> readable_places(const ProbeTarget& job, bool sees_only_itself) {
    Paths paths = of_run();
    add_system("", paths);
    add(paths, of_sys());
    if (sees_only_itself)
        paths.emplace_back("/proc");
    else
        paths.insert(paths.end(), kOfProc.begin(), kOfProc.end());
    // Add paths outside the fixed lists; add_named() adds the whole tree that contains a path.
    auto named = named_by_linker_cache();
    add(named, named_by_variables());
    if (!has_own_nodes(job.api))
        named.push_back(job.driver);
    named.push_back(job.library.value_or(""));
    Resolver resolver;
    for (const auto& path : named)
        add_named(path, resolver, paths);
    // Add only this path itself, because the folder that contains it is shared with other workers.
    if (const char* own = std::getenv("OCL_ICD_VENDORS"))
        paths.emplace_back(own);
    std::ranges::sort(paths);
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    return paths;
}

}  // namespace gpuprobe::backends
