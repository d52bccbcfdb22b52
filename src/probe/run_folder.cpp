// SPDX-License-Identifier: Apache-2.0
#include "probe/run_folder.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"

namespace gpuprobe::inline probe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTemporary = "/tmp";

/// Makes every folder below accessible again if it is ours: a driver may have removed permissions.
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
    // Removing an empty folder does not need a descriptor; there may not be any left.
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

/// Removes a tree: a small one now, a large one on another thread, because 40,000 files take 0.4 s
/// and a caller may be waiting. The process does not end before all trees are removed, because the
/// destructor of a future from std::async waits.
void discard(const fs::path& path) try {
    static std::map<fs::path, std::future<void>> removals;
    std::erase_if(removals, [](const auto& one) {
        return one.second.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
    });
    if (removals.contains(path))
        return;
    for (const auto& [other, removal] : removals)
        if (other.parent_path() == path)
            removal.wait();  // two threads in the same tree would see each other's work as errors
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

/// The wanted folder if no other user can replace files in it, else /tmp. After su or sudo, $TMPDIR
/// may belong to the original user. Errors: the same as open_folder().
Result<std::string> safe_parent(const std::string& wanted) {
    const auto folder = open_folder(wanted, FolderTrust::Named);
    if (folder && folder->path == wanted)
        return wanted;
    if (!folder && folder.error().code != ErrorCode::PermissionDenied)
        return folder.error();
    if (wanted != kTemporary)
        return safe_parent(kTemporary);
    return Error{ErrorCode::PermissionDenied, wanted + ": other users can exchange what is in it"};
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

}  // namespace gpuprobe::inline probe
