// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/memory_files.h"
#include "watch/processes.h"

namespace gpuprobe::watch {
namespace process_tree_test {

using ::gpuprobe::support::MemoryFiles;

std::string stat_of(pid_t pid, pid_t parent, std::uint64_t started, char state = 'S') {
    std::string text = std::to_string(pid) + " (a (b) c) " + state + " " + std::to_string(parent);
    for (int word = 2; word < 19; ++word)
        text += " 7";
    return text + " " + std::to_string(started) + " 9 9\n";
}

/// A machine on which processes start and end.
class Machine {
public:
    void add(pid_t pid, pid_t parent, std::uint64_t started, const std::string& environment = "") {
        processes_[pid] = {stat_of(pid, parent, started), environment};
    }
    void remove(pid_t pid) { processes_.erase(pid); }
    void set(pid_t pid, const std::string& stat) { processes_[pid].stat = stat; }
    void write() {
        files_ = MemoryFiles{};
        files_.write("/proc/version", "Linux");
        for (const auto& [pid, process] : processes_) {
            const auto folder = "/proc/" + std::to_string(pid);
            files_.write(folder + "/stat", process.stat);
            files_.write(folder + "/environ", process.environment);
        }
    }
    const MemoryFiles& files() const { return files_; }

private:
    struct Entry {
        std::string stat = {};
        std::string environment = {};
    };
    std::map<pid_t, Entry> processes_ = {};
    MemoryFiles files_ = {};
};

std::vector<pid_t> pids(const std::vector<Process>& processes) {
    std::vector<pid_t> numbers;
    for (const auto& process : processes)
        numbers.push_back(process.pid);
    return numbers;
}

using Pids = std::vector<pid_t>;

TEST(ProcessTree, ReadsAStatWhoseNameHoldsAnything) {
    EXPECT_EQ(process_from(stat_of(12, 3, 4567, 'R')),
              (Process{.pid = 12, .parent = 3, .state = 'R', .started = 4567}));
    const auto whole = stat_of(12, 3, 4567);
    for (std::size_t size = 0; size < whole.find(" 4567"); ++size)
        EXPECT_EQ(process_from(whole.substr(0, size)), std::nullopt) << size;
    EXPECT_EQ(process_from("12 (x) S x 1 1"), std::nullopt);
    EXPECT_EQ(process_from("99999999999999999999 (x) S 1"), std::nullopt);
}

TEST(Process, StartsSomeTicksAfterTheSystem) {
    const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    const WallTime now{std::chrono::seconds{1000}};
    MemoryFiles files;
    files.write("/proc/7/stat", stat_of(7, 1, 10 * ticks));
    EXPECT_EQ(start_of(files, 7, now), std::nullopt) << "without the system's uptime";
    files.write("/proc/uptime", "100.50 180.00\n");
    EXPECT_EQ(start_of(files, 7, now), now - std::chrono::milliseconds{90500});
    EXPECT_EQ(start_of(files, 8, now), std::nullopt) << "no such process";
}

TEST(ProcessTree, FindsDescendantsWhateverTheirNumbers) {
    Machine machine;
    machine.add(1, 0, 1);
    machine.add(50, 1, 100);
    machine.add(20, 50, 110);  // process numbers have wrapped around
    machine.add(10, 20, 120);
    machine.add(60, 1, 130);
    machine.write();
    ProcessTree tree{machine.files(), 50};
    EXPECT_EQ(pids(tree.look()), (Pids{10, 20, 50}));
    EXPECT_TRUE(tree.is_whole());
}

TEST(ProcessTree, KeepsAChildWhoseParentHasEnded) {
    Machine machine;
    machine.add(50, 1, 100);
    machine.add(51, 50, 110);
    machine.add(52, 51, 120);
    machine.write();
    ProcessTree tree{machine.files(), 50};
    EXPECT_EQ(pids(tree.look()), (Pids{50, 51, 52}));
    machine.remove(51);
    machine.add(52, 1, 120);
    machine.add(53, 52, 130);
    machine.write();
    EXPECT_EQ(pids(tree.look()), (Pids{50, 52, 53}));
    machine.remove(50);
    machine.write();
    EXPECT_EQ(pids(tree.look()), (Pids{52, 53}));
}

TEST(ProcessTree, FindsByItsMarkAChildThatForkedTwiceBetweenTwoLooks) {
    Machine machine;
    machine.add(50, 1, 100, std::string{"A=1\0RUN=7-8\0B=2", 15});
    machine.write();
    ProcessTree tree{machine.files(), 50, "RUN=7-8"};
    EXPECT_EQ(pids(tree.look()), (Pids{50}));
    machine.add(60, 1, 120, std::string{"RUN=7-8\0", 8});
    machine.add(61, 60, 121);
    machine.add(70, 1, 120, std::string{"RUN=7-80\0XRUN=7-8", 17});
    machine.write();
    EXPECT_EQ(pids(tree.look()), (Pids{50, 60, 61}));
    EXPECT_EQ(pids((ProcessTree{machine.files(), 50}).look()), (Pids{50}));
}

TEST(ProcessTree, LooksAgainAtWhoeverIsAboutToRunAProgram) {
    Machine machine;
    machine.add(50, 1, 100);
    machine.add(60, 1, 120);
    machine.write();
    ProcessTree tree{machine.files(), 50, "RUN=7-8"};
    EXPECT_EQ(pids(tree.look()), (Pids{50}));
    machine.add(60, 1, 120, std::string{"RUN=7-8\0", 8});
    machine.write();
    EXPECT_EQ(pids(tree.look()), (Pids{50, 60}));
    machine.add(70, 1, 130);
    machine.write();
    for (int look = 0; look < 5; ++look)
        EXPECT_EQ(pids(tree.look()), (Pids{50, 60}));
    machine.add(70, 1, 130, std::string{"RUN=7-8\0", 8});
    machine.write();
    EXPECT_EQ(pids(tree.look()), (Pids{50, 60})) << "its variables are not read for ever";
}

TEST(ProcessTree, DoesNotTakeAnotherProcessWithTheSameNumberForOneOfOurs) {
    Machine machine;
    machine.add(50, 1, 100);
    machine.add(51, 50, 110);
    machine.write();
    ProcessTree tree{machine.files(), 50};
    EXPECT_EQ(pids(tree.look()), (Pids{50, 51}));
    machine.add(50, 1, 900);
    machine.add(51, 1, 910);
    machine.write();
    EXPECT_EQ(pids(tree.look()), Pids{});
}

TEST(ProcessTree, LeavesOutWhoHasEndedAndIsNotWaitedFor) {
    Machine machine;
    machine.add(50, 1, 100);
    machine.set(51, stat_of(51, 50, 110, 'Z'));
    machine.write();
    ProcessTree tree{machine.files(), 50};
    EXPECT_EQ(pids(tree.look()), (Pids{50}));
}

TEST(ProcessTree, SaysWhenThereAreMoreThanItLooksAt) {
    Machine machine;
    machine.add(50, 1, 100);
    for (pid_t pid = 1000; pid < 6000; ++pid)
        machine.add(pid, 50, 200);
    machine.write();
    ProcessTree tree{machine.files(), 50};
    EXPECT_EQ(tree.look().size(), ProcessTree::kMaxProcesses);
    EXPECT_FALSE(tree.is_whole());
}

TEST(ProcessTree, TakesAProcessThatGoesWhileItLooksOrSaysNonsense) {
    Machine machine;
    machine.add(50, 1, 100);
    machine.set(51, "");
    machine.set(52, "52 (x");
    machine.set(53, stat_of(99, 50, 100));
    machine.write();
    ProcessTree tree{machine.files(), 50};
    EXPECT_EQ(pids(tree.look()), (Pids{50}));
}

}  // namespace process_tree_test
}  // namespace gpuprobe::watch
