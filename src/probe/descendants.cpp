// SPDX-License-Identifier: Apache-2.0
#include "probe/descendants.h"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/handle.h"

namespace gpuprobe::inline probe {
namespace {

constexpr int kMaxStops = 100;  ///< passes in one call, in case something can't be stopped
constexpr int kMaxDepth = 200;  ///< deeper children are reached once their parents are gone

/// A path below /proc, made without allocating.
class ProcessFile {
public:
    explicit ProcessFile(pid_t pid) { *this << "/proc/" << pid; }
    ProcessFile& operator<<(const char* more) {
        while (*more != '\0' && length_ + 1 < text_.size())
            text_[length_++] = *more++;
        return *this;
    }
    ProcessFile& operator<<(pid_t number) {
        std::array<char, 12> digits = {};
        auto at = digits.size() - 1;  // the array ends in a NUL
        for (; number > 0 && at > 0; number /= 10)
            digits[--at] = static_cast<char>('0' + number % 10);
        return *this << &digits[at];
    }
    [[nodiscard]] UniqueFd open() const {
        return UniqueFd{::open(text_.data(), O_RDONLY | O_CLOEXEC)};
    }

private:
    std::array<char, 64> text_ = {};
    std::size_t length_ = 0;
};

/// Calls `use(pid)` for each that is listed. False where the kernel doesn't list them.
/// Source: proc(5), /proc/pid/task/tid/children.
template <class Use>
bool each_child(const UniqueFd& list, Use use) {
    std::array<char, 512> text;
    pid_t pid = 0;
    for (ssize_t count = 0; list && (count = ::read(list.get(), text.data(), text.size())) > 0;)
        for (ssize_t i = 0; i < count; ++i) {
            const char letter = text[static_cast<std::size_t>(i)];
            if (letter >= '0' && letter <= '9') {
                pid = pid * 10 + (letter - '0');
                continue;
            }
            if (pid > 0)
                use(pid);
            pid = 0;
        }
    return static_cast<bool>(list);
}

/// The list of the children that its first thread has started.
UniqueFd children_of(pid_t pid) {
    return (ProcessFile{pid} << "/task/" << pid << "/children").open();
}

struct ProcessState {
    char letter = 'X';
    pid_t parent = 0;
};

/// Source: proc(5), /proc/pid/stat: "pid (name) state parent …".
ProcessState state_of(pid_t pid) {
    std::array<char, 256> text = {};
    const auto file = (ProcessFile{pid} << "/stat").open();
    const auto count = file ? ::read(file.get(), text.data(), text.size()) : -1;
    auto at = count;
    while (at > 0 && text[static_cast<std::size_t>(at - 1)] != ')')
        --at;
    if (at <= 0 || at + 3 >= count)
        return {};
    ProcessState state{.letter = text[static_cast<std::size_t>(at + 1)]};
    for (at += 3; at < count; ++at) {
        const char letter = text[static_cast<std::size_t>(at)];
        if (letter < '0' || letter > '9')
            break;
        state.parent = state.parent * 10 + (letter - '0');
    }
    return state;
}

/// Stops everything below `parent`; true when something of it was still running.
bool stop_below(pid_t parent, int depth) {
    bool still_ran = false;
    (void)each_child(children_of(parent), [&](pid_t pid) {
        // Through a descriptor, and only if it is still the process that was listed: its number may
        // belong to another one by now.
        const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
        const auto state = state_of(pid);
        if (!process || state.parent != parent)
            return;
        if (state.letter != 'T' && state.letter != 'Z') {
            still_ran = true;
            ::syscall(SYS_pidfd_send_signal, process.get(), SIGSTOP, nullptr, 0);
        }
        if (depth < kMaxDepth && stop_below(pid, depth + 1))
            still_ran = true;
    });
    return still_ran;
}

}  // namespace

bool kill_children() {
    return each_child(children_of(::getpid()), [](pid_t pid) { ::kill(pid, SIGKILL); });
}

void stop_descendants() {
    for (int looks = 0; looks < kMaxStops && stop_below(::getpid(), 0); ++looks)
        continue;
}

}  // namespace gpuprobe::inline probe
