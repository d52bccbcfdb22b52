// SPDX-License-Identifier: Apache-2.0
#include "probe/worker_sandbox.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"

namespace gpuprobe::inline probe {
namespace {

/// A folder that does not exist. An empty folder below `home` would not be safe, because a driver
/// could create files in it.
constexpr const char* kNowhere = "/nonexistent";
/// 16 MiB. A probe's kernels need only a few kilobytes of the cache.
constexpr const char* kCudaCache = "16777216";

void add_vulkan(WorkerVariables& variables, const std::string& manifest) {
    // Loaders ignore an empty list, so to hide all drivers, use a manifest that does not exist.
    const auto drivers = manifest.empty() ? std::string{kNowhere} + "/none.json" : manifest;
    variables["VK_DRIVER_FILES"] = drivers;
    variables["VK_ICD_FILENAMES"] = drivers;  // for loaders before 1.3.207
    variables["VK_LOADER_LAYERS_DISABLE"] = "~all~";
    variables["VK_IMPLICIT_LAYER_PATH"] = kNowhere;  // for loaders before 1.3.234
    variables["VK_LAYER_PATH"] = kNowhere;
}

}  // namespace

WorkerVariables worker_environment(const ProbeTarget& target,
                                   const std::string& home,
                                   const std::string& opencl_vendors,
                                   const WorkerVariables& extra) {
    WorkerVariables variables = {
        {"PATH", "/usr/local/bin:/usr/bin:/bin"},  // because pocl runs the linker
        {"LANG", "C.UTF-8"},
        {"HOME", home},
        {"TMPDIR", home},
        {"XDG_CACHE_HOME", home},
        {"XDG_CONFIG_HOME", kNowhere},
        {"XDG_CONFIG_DIRS", kNowhere},
        {"XDG_DATA_HOME", kNowhere},
        {"XDG_DATA_DIRS", kNowhere},
        {"POCL_CACHE_DIR", home + "/pocl"},
        {"MESA_SHADER_CACHE_DISABLE", "true"},
        // Without a cache, NVIDIA's OpenCL compiles its internal kernels in each clCreateContext,
        // which takes 1.2 to 1.9 s instead of 0.2 s (580.159 on an H200).
        {"CUDA_CACHE_PATH", home + "/cuda"},
        {"CUDA_CACHE_MAXSIZE", kCudaCache},
        {"NEO_CACHE_PERSISTENT", "0"},
        {kStaysVariable, "1"},
        {"__GL_SHADER_DISK_CACHE", "0"},
    };
    if (target.api == "vulkan")
        add_vulkan(variables, target.driver);
    if (target.api == "opencl")
        variables["OCL_ICD_VENDORS"] = opencl_vendors.empty() ? kNowhere : opencl_vendors;
    for (const auto& [name, value] : extra)
        variables.insert_or_assign(name, value);
    return variables;
}

std::vector<std::string> environment_block(const WorkerVariables& variables) {
    std::vector<std::string> block;
    for (const auto& [name, value] : variables)
        block.push_back(name + "=" + value);
    return block;
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kTemporary = "/tmp";

/// Makes every folder below `path` accessible again if the folder belongs to us, because a driver
/// may have removed permissions.
void open_folders(const fs::path& path) {
    std::error_code ignored;
    fs::permissions(path, fs::perms::owner_all,
                    fs::perm_options::replace | fs::perm_options::nofollow, ignored);
    for (auto entry = fs::directory_iterator{path, ignored}; entry != fs::directory_iterator{};
         entry.increment(ignored))
        if (entry->symlink_status(ignored).type() == fs::file_type::directory)
            open_folders(entry->path());
}

void remove_tree(const fs::path& path) {
    // Removing an empty folder needs no descriptor, so it works even if no descriptor is available.
    if (::rmdir(path.c_str()) == 0)
        return;
    std::error_code problem;
    fs::remove_all(path, problem);
    if (!problem)
        return;
    open_folders(path);
    fs::remove_all(path, problem);  // anything still left belongs to another user
}

/// Whether the tree can be removed quickly enough not to delay an answer.
bool is_small(const fs::path& path) {
    constexpr int kMost = 1000;
    std::error_code problem;
    int count = 0;
    for (auto entry = fs::recursive_directory_iterator{path, problem};
         !problem && entry != fs::recursive_directory_iterator{}; entry.increment(problem))
        if (++count > kMost)
            return false;
    return !problem;
}

/// Removes a tree. A small tree is removed immediately, and a large tree on another thread, because
/// 40,000 files take 0.4 s and a caller may be waiting. The process does not end before all trees
/// are removed, because the destructor of a future from std::async waits.
void discard(const fs::path& path) try {
    static std::map<fs::path, std::future<void>> removals;
    std::erase_if(removals, [](const auto& one) {
        return one.second.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
    });
    if (removals.contains(path))
        return;
    for (const auto& [other, removal] : removals)
        if (other.parent_path() == path)
            removal.wait();  // two threads in the same tree would get errors from each other's work
    if (is_small(path))
        return remove_tree(path);
    removals.emplace(path, std::async(std::launch::async, [path] { remove_tree(path); }));
} catch (const std::system_error&) {
    remove_tree(path);  // no thread could be started
}

/// The pid in a run folder's name; nullopt for any other name.
std::optional<pid_t> owner_of(std::string_view name, std::string_view word) {
    if (!name.starts_with(word) || name.size() <= word.size() || name[word.size()] != '-')
        return std::nullopt;
    name.remove_prefix(word.size() + 1);
    return parse_number<pid_t>(name.substr(0, name.find('-')));
}

bool is_over(pid_t process) {
    return ::kill(process, 0) != 0 && errno == ESRCH;
}

bool is_ours(const fs::path& path) {
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid() && S_ISDIR(info.st_mode);
}

/// Removes the run folders that ended processes left in `parent`, for example after a crash.
void sweep(const fs::path& parent, std::string_view word) {
    std::error_code ignored;
    for (auto entry = fs::directory_iterator{parent, ignored}; entry != fs::directory_iterator{};
         entry.increment(ignored)) {
        const auto owner = owner_of(entry->path().filename().string(), word);
        if (owner && is_over(*owner) && is_ours(entry->path()))
            discard(entry->path());
    }
}

/// The requested folder if no other user can replace files in it, otherwise /tmp. After su or sudo,
/// $TMPDIR may belong to the original user. Errors: the same as open_folder().
Result<std::string> safe_parent(const std::string& wanted) {
    const auto folder = open_folder(wanted, FolderTrust::Named);
    if (folder && folder->path == wanted)
        return wanted;
    if (!folder && folder.error().code != ErrorCode::PermissionDenied)
        return folder.error();
    if (wanted != kTemporary)
        return safe_parent(kTemporary);
    return Error{ErrorCode::PermissionDenied,
                 wanted + ": other users can replace files in this folder"};
}

}  // namespace

Result<RunFolder> RunFolder::make(const std::string& wanted, const std::string& word) {
    const auto parent = TRY(safe_parent(wanted));
    sweep(parent, word);
    auto name = parent + "/" + word + "-" + std::to_string(::getpid()) + "-XXXXXX";
    if (!::mkdtemp(name.data()))
        return errno_error(name, errno);
    return RunFolder{std::move(name)};
}

RunFolder::RunFolder(RunFolder&& other) noexcept : path_{std::exchange(other.path_, {})} {}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

RunFolder::~RunFolder() {
    if (!path_.empty())
        discard(path_);
}

namespace {

constexpr int kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET;
constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV;
constexpr std::size_t kMaxShown = 32;
constexpr int kUsualDescriptors = 1024;

bool is_folder(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool exists(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0;
}

/// The path without symbolic links; unchanged if the path can't be resolved.
std::string resolved(const std::string& path) {
    std::error_code problem;
    const auto real = std::filesystem::canonical(path, problem);
    return problem ? path : real.string();
}

bool is_below(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

/// The folders between `folder` and `path`, outermost first, followed by `path` itself.
std::vector<std::string> folders_down_to(const std::string& folder, const std::string& path) {
    std::vector<std::string> all;
    for (auto at = folder.size(); at != std::string::npos;) {
        at = path.find('/', at + 1);
        all.push_back(path.substr(0, at));
    }
    return all;
}

bool write_to(const char* path, const std::string& text) {
    const UniqueFd file{::open(path, O_WRONLY | O_CLOEXEC)};
    return file &&
           ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool make_mount_folder(const std::string& path) {
    return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

bool make_mount_file(const std::string& path) {
    const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)};
    return static_cast<bool>(file);
}

/// "/proc/self/fd/N", built without allocating.
class DescriptorPath {
public:
    explicit DescriptorPath(int descriptor) {
        const auto end = std::ranges::copy(kFolder, text_.begin()).out;
        std::to_chars(end, text_.end() - 1, descriptor);  // the array ends in a NUL
    }
    [[nodiscard]] const char* text() const { return text_.data(); }

private:
    static constexpr std::string_view kFolder = "/proc/self/fd/";
    std::array<char, 32> text_ = {};
};

/// The init process: mounts /proc, writes the mount's errno (0: success) to its second argument,
/// then waits until the other end of `lifeline` is closed.
[[noreturn]] void be_first_process(int lifeline, int report) {
    struct sigaction ignored = {};
    ignored.sa_handler = SIG_IGN;
    // The kernel then reaps the orphans that init inherits.
    ::sigaction(SIGCHLD, &ignored, nullptr);
    (void)::prctl(PR_SET_NAME, "gpuprobe-first", 0, 0, 0);
    const bool is_mounted = ::mount("proc", "/proc", "proc", kPlain | MS_NOEXEC, nullptr) == 0;
    const int problem = is_mounted ? 0 : errno;
    (void)!::write(report, &problem, sizeof problem);
    if (!is_mounted)
        ::_exit(EXIT_FAILURE);
    // Keep only the lifeline, because any other descriptor could keep a pipe open that must be
    // closed.
    (void)::dup2(lifeline, STDIN_FILENO);
    if (::syscall(__NR_close_range, STDIN_FILENO + 1, ~0U, 0U) != 0)  // fails before Linux 5.9
        for (int fd = STDIN_FILENO + 1; fd < kUsualDescriptors; ++fd)
            ::close(fd);
    char none = 0;
    while (::read(STDIN_FILENO, &none, 1) < 0 && errno == EINTR)
        continue;
    ::_exit(EXIT_SUCCESS);
}

}  // namespace

Namespaces::Namespaces(const std::string& home, const std::vector<std::string>& needed) {
    const auto scratch = "mode=0700,nr_inodes=16384,size=" + std::to_string(kMaxScratch.count);
    // The machine's folders, with the paths below them that drivers need.
    hidden_.push_back({.path = "/run", .options = "mode=0755,size=1m", .is_sealed = true});
    hidden_.push_back({.path = "/tmp", .options = scratch});
    hidden_.push_back({.path = "/dev/shm", .options = scratch});
    std::erase_if(hidden_, [](const Hidden& folder) { return !is_folder(folder.path); });
    for (const auto* path : kRunPlaces)
        show(path);
    for (const auto& path : needed)
        show_around(resolved(path));
    // The worker's own folder is mounted last. If the folder is below another hidden folder, the
    // tmpfs of that folder hides it, so its path has to be created again in that tmpfs.
    hidden_.push_back({.path = resolved(home), .options = scratch});
    for (auto& folder : hidden_)
        if (is_below(hidden_.back().path, folder.path))
            hidden_.back().folders = folders_down_to(folder.path, hidden_.back().path);
    // The format is "inside outside count": map one user and one group to the same ids inside the
    // namespace.
    const auto uid = std::to_string(::geteuid());
    const auto gid = std::to_string(::getegid());
    uid_map_ = uid + " " + uid + " 1\n";
    gid_map_ = gid + " " + gid + " 1\n";
}

void Namespaces::show(const std::string& path) {
    for (auto& folder : hidden_)
        if (is_below(path, folder.path) && exists(path) && folder.shown.size() < kMaxShown)
            folder.shown.push_back({.path = path, .is_folder = is_folder(path)});
}

/// Keeps the whole first-level folder that contains `path` visible, because it also contains the
/// driver's other files.
void Namespaces::show_around(const std::string& path) {
    for (const auto& folder : hidden_)
        if (is_below(path, folder.path))
            return show(path.substr(0, path.find('/', folder.path.size() + 1)));
}

/// Maps only the process's own user and group. An unprivileged process must write "deny" to
/// setgroups before it may write a group map; user_namespaces(7).
bool Namespaces::map_user() const {
    return write_to("/proc/self/uid_map", uid_map_) && write_to("/proc/self/setgroups", "deny") &&
           write_to("/proc/self/gid_map", gid_map_);
}

bool Namespaces::cover(const Hidden& folder) {
    // Open the paths that must stay visible, before the tmpfs hides them.
    std::array<int, kMaxShown> kept;
    for (std::size_t i = 0; i < folder.shown.size(); ++i)
        kept[i] = ::open(folder.shown[i].path.c_str(), O_PATH | O_CLOEXEC);
    // `folders` isn't empty if the folder is below another hidden folder.
    if (!std::ranges::all_of(folder.folders, make_mount_folder) ||
        ::mount("tmpfs", folder.path.c_str(), "tmpfs", kPlain, folder.options.c_str()) != 0)
        return false;
    // Bind-mount the opened paths at the same place in the tmpfs. A path that could not be opened
    // is skipped.
    for (std::size_t i = 0; i < folder.shown.size(); ++i) {
        const auto& shown = folder.shown[i];
        const UniqueFd source{kept[i]};
        if (source &&
            (!(shown.is_folder ? make_mount_folder(shown.path) : make_mount_file(shown.path)) ||
             ::mount(DescriptorPath{source.get()}.text(), shown.path.c_str(), nullptr,
                     MS_BIND | MS_REC, nullptr) != 0))
            return false;
    }
    return !folder.is_sealed || ::mount(nullptr, folder.path.c_str(), nullptr,
                                        MS_REMOUNT | MS_BIND | MS_RDONLY | kPlain, nullptr) == 0;
}

bool Namespaces::enter() const {
    // A process that isn't dumpable may not write its own uid and gid maps. Therefore, the process
    // is made dumpable, but only briefly, and other workers can't see the process from their
    // namespaces.
    (void)::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    const bool is_apart = ::unshare(kNamespaces) == 0 && map_user();
    const int problem = errno;
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    errno = problem;
    // Make all mounts private first, so that the following mounts stay invisible outside the
    // namespace.
    return is_apart && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           std::ranges::all_of(hidden_, cover);
}

pid_t Namespaces::start_first_process(int& lifeline) {
    std::array<int, 2> line = {-1, -1};
    std::array<int, 2> report = {-1, -1};
    if (::pipe2(line.data(), O_CLOEXEC) != 0 || ::pipe2(report.data(), O_CLOEXEC) != 0)
        return -1;
    const pid_t first = ::fork();
    if (first == 0) {
        ::close(line[1]);
        be_first_process(line[0], report[1]);
    }
    ::close(line[0]);
    ::close(report[1]);
    // The value stays EPERM if the init process ended before it could report.
    int problem = first < 0 ? errno : EPERM;
    if (first > 0)
        while (::read(report[0], &problem, sizeof problem) < 0 && errno == EINTR)
            continue;
    ::close(report[0]);
    lifeline = line[1];
    errno = problem;
    return problem == 0 ? first : -1;
}

}  // namespace gpuprobe::inline probe
