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

/// What a running program and everything it starts take of the GPUs, as far as the kernel and
/// management libraries tell without privileges.
namespace gpuprobe::watch {

/// A process at one moment. Its number may belong to another one later; together with the start it
/// is unique until the machine starts again.
struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';           ///< 'Z' has ended and holds nothing
    std::uint64_t started = 0;  ///< clock ticks since the machine's start
    bool operator==(const Process&) const = default;
};

/// What /proc/PID/stat says; nullopt where it is not of that form. Source: proc_pid_stat(5). The
/// name in it may hold blanks and parentheses, and is the program's to choose.
std::optional<Process> process_from(std::string_view stat);

/// A process and its descendants, from one look to the next. Who was one stays one when its parent
/// ends and the kernel gives it another.
class ProcessTree {
public:
    static constexpr std::size_t kMaxProcesses = 4096;

    /// `mark`: a variable with its value, "NAME=value", that the root was started with. It finds
    /// those whose parents came and went between two looks. `files` must outlive this.
    ProcessTree(const FileSystem& files, pid_t root, std::string mark = {});

    /// Those that run now, by number; none when all have ended. Those that have ended and are not
    /// waited for are left out.
    std::vector<Process> look();
    /// False when there were more than kMaxProcesses, or /proc could not be listed.
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
    /// Somebody else's. One that was just made may not be known yet for what it is: its parent has
    /// ended since the folder was listed, or it is about to run another program.
    struct Other {
        Process process = {};
        int looks = 0;
    };
    std::map<pid_t, Other> others_ = {};
    bool is_whole_ = true;
};

}  // namespace gpuprobe::watch
