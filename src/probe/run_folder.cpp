// SPDX-License-Identifier: Apache-2.0
#include "probe/run_folder.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/parse.h"

namespace gpuprobe::inline probe {
namespace {

namespace fs = std::filesystem;

/// Lets us into every folder below, as far as they are ours: a driver may have closed them.
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
    // An empty one needs no descriptor, of which there may be none left.
    if (::rmdir(path.c_str()) == 0)
        return;
    std::error_code problem;
    fs::remove_all(path, problem);
    if (!problem)
        return;
    open_folders(path);
    fs::remove_all(path, problem);  // what is left then is not ours
}

/// The process that made a folder of that name; nullopt for any other name.
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

void sweep(const fs::path& parent, std::string_view word) {
    std::error_code ignored;
    for (auto entry = fs::directory_iterator{parent, ignored}; entry != fs::directory_iterator{};
         entry.increment(ignored)) {
        const auto owner = owner_of(entry->path().filename().string(), word);
        if (owner && is_over(*owner) && is_ours(entry->path()))
            remove_tree(entry->path());
    }
}

}  // namespace

Result<RunFolder> RunFolder::make(const std::string& parent, const std::string& word) {
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
        remove_tree(path_);
}

}  // namespace gpuprobe::inline probe
