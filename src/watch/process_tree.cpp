// SPDX-License-Identifier: Apache-2.0
#include "watch/process_tree.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gpuprobe::watch {
namespace {

const std::string kProcesses = "/proc/";
constexpr Bytes kMaxStat = kib(4);
constexpr Bytes kMaxEnvironment = mib(4);
constexpr int kLooksAtOthers = 3;  // after that, a process outside the tree is not read again
// Indexes of the words after the name in /proc/PID/stat.
constexpr std::size_t kState = 0;
constexpr std::size_t kParent = 1;
constexpr std::size_t kStarted = 19;

}  // namespace

std::optional<Process> process_from(std::string_view stat) {
    // The name is in parentheses and may contain any character, so look for the last one.
    const auto name = stat.rfind(')');
    const auto pid = parse_number<pid_t>(stat.substr(0, stat.find(' ')));
    if (name == std::string_view::npos || !pid || *pid <= 0)
        return std::nullopt;
    const auto rest = words(stat.substr(name + 1));
    if (rest.size() <= kStarted)
        return std::nullopt;
    const auto parent = parse_number<pid_t>(rest[kParent]);
    const auto started = parse_number<std::uint64_t>(rest[kStarted]);
    if (!parent || *parent < 0 || !started || rest[kState].size() != 1)
        return std::nullopt;
    return Process{
        .pid = *pid, .parent = *parent, .state = rest[kState].front(), .started = *started};
}

ProcessTree::ProcessTree(const FileSystem& files, pid_t root, std::string mark)
    : files_{files}, root_{root}, mark_{std::move(mark)} {}

std::optional<Process> ProcessTree::read(pid_t pid) const {
    const auto stat = files_.read(kProcesses + std::to_string(pid) + "/stat", kMaxStat);
    const auto process = stat ? process_from(*stat) : std::nullopt;
    return process && process->pid == pid ? process : std::nullopt;
}

/// Whether the process has the mark in its environment. Before exec(), a new process still has its
/// parent's environment.
bool ProcessTree::is_marked(pid_t pid) const {
    if (mark_.empty())
        return false;
    const auto text = files_.read(kProcesses + std::to_string(pid) + "/environ", kMaxEnvironment);
    if (!text)
        return false;
    const auto variables = split(std::string_view{*text}, '\0');
    return std::ranges::find(variables, mark_) != variables.end();
}

/// Compares the start time as well, because the number may have been reused.
bool ProcessTree::is_root(const Process& process) {
    if (process.pid != root_)
        return false;
    if (!root_started_)
        root_started_ = process.started;
    return *root_started_ == process.started;
}

/// Moves descendants of our processes from the strangers to ours. Repeats until nothing changes,
/// because numbers wrap and a child may be listed before its parent.
void ProcessTree::adopt(std::map<pid_t, Process>& strangers) {
    for (bool has_grown = true; has_grown;)
        has_grown = std::erase_if(strangers, [this](const auto& stranger) {
                        const auto& process = stranger.second;
                        const bool is_ours = is_root(process) || ours_.contains(process.parent);
                        if (is_ours)
                            ours_.insert(stranger);
                        return is_ours;
                    }) > 0;
}

std::vector<Process> ProcessTree::look() {
    // Sort all processes into three groups: known members of the tree that still run, strangers
    // that were looked at often enough, and strangers that may still turn out to be ours.
    const auto names = files_.list("/proc");
    is_whole_ = static_cast<bool>(names);
    std::map<pid_t, Process> here;
    std::map<pid_t, Process> strangers;
    std::map<pid_t, Other> settled;
    for (const auto& name : names ? *names : std::vector<std::string>{std::to_string(root_)}) {
        const auto pid = parse_number<pid_t>(name);
        if (!pid)
            continue;
        const auto other = others_.find(*pid);
        if (other != others_.end() && other->second.looks >= kLooksAtOthers) {
            settled.insert(*other);
            continue;
        }
        const auto process = read(*pid);
        if (!process)
            continue;
        const auto known = ours_.find(*pid);
        const bool is_ours = known != ours_.end() && known->second.started == process->started;
        (is_ours ? here : strangers).emplace(*pid, *process);
    }
    // First by parent; then by mark, which needs a second pass for the children of those found.
    const auto before = std::exchange(others_, std::move(settled));
    ours_ = std::move(here);
    adopt(strangers);
    std::erase_if(strangers, [this](const auto& stranger) {
        return is_marked(stranger.first) && ours_.insert(stranger).second;
    });
    adopt(strangers);
    // The remaining ones are strangers: count the looks, per process and not per number.
    for (const auto& [pid, process] : strangers) {
        const auto seen = before.find(pid);
        const bool is_same =
            seen != before.end() && seen->second.process.started == process.started;
        others_[pid] = {.process = process, .looks = is_same ? seen->second.looks + 1 : 1};
    }
    std::vector<Process> running;
    // Zombies stay in ours_, because they may still be parents of running processes.
    for (const auto& [pid, process] : ours_)
        if (process.state != 'Z' && process.state != 'X')
            running.push_back(process);
    if (running.size() > kMaxProcesses) {
        running.resize(kMaxProcesses);
        is_whole_ = false;
    }
    return running;
}

}  // namespace gpuprobe::watch
