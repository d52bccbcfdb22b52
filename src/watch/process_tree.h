// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/files.h"

/// Measures how much of the GPUs a running program and its descendants use, from the information
/// that the kernel and management libraries give to unprivileged users.
namespace gpuprobe::watch {

/// A process at one moment. The kernel may reuse its number later, but number and start time
/// together are unique until the next boot.
struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';           ///< 'Z': has ended and uses nothing
    std::uint64_t started = 0;  ///< clock ticks since boot
    bool operator==(const Process&) const = default;
};

/// Parses /proc/PID/stat; nullopt if the text has another form. The program's name in it may have
/// blanks and parentheses, because the program can choose it. Source: proc_pid_stat(5).
std::optional<Process> process_from(std::string_view stat);

/// Follows a process and its descendants from one look to the next. A descendant stays one when its
/// parent ends and the kernel gives it a new parent.
class ProcessTree {
public:
    static constexpr std::size_t kMaxProcesses = 4096;

    /// `mark`: an environment variable with its value, "NAME=value", that the root was started
    /// with. It identifies descendants whose parents started and ended between two looks. `files`
    /// must outlive this object.
    ProcessTree(const FileSystem& files, pid_t root, std::string mark = {});

    /// The processes of the tree that run now, sorted by number; empty when all have ended. Leaves
    /// out zombies.
    std::vector<Process> look();
    /// False if the last look found more than kMaxProcesses, or /proc could not be listed.
    [[nodiscard]] bool is_whole() const { return is_whole_; }

private:
    [[nodiscard]] std::optional<Process> read(pid_t pid) const;
    [[nodiscard]] bool is_marked(pid_t pid) const;
    [[nodiscard]] bool is_root(const Process& process);
    void adopt(std::map<pid_t, Process>& strangers);

    const FileSystem& files_;
    pid_t root_;
    std::string mark_;
    std::optional<std::uint64_t> root_started_ = {};
    std::map<pid_t, Process> ours_ = {};
    /// A process outside the tree, and how often we have looked at it. A new process may turn out
    /// to belong to the tree later: its parent ended after /proc was listed, or it has not called
    /// exec() yet.
    struct Other {
        Process process = {};
        int looks = 0;
    };
    std::map<pid_t, Other> others_ = {};
    bool is_whole_ = true;
};

}  // namespace gpuprobe::watch
