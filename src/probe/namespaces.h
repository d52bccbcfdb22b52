// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/units.h"

namespace gpuprobe::inline probe {

/// What a worker may fill, and has for as long as it runs.
constexpr Bytes kMaxScratch = mib(256);

/// Namespaces of one worker's own: it sees its own processes alone, no network, none of the
/// machine's sockets in /run and /tmp, no shared memory or message queue but what it makes, and
/// what it writes goes with it. Its user and groups are the caller's, so that nodes open as before.
///
/// Made before the fork; what a process just forked calls allocates nothing.
class Namespaces {
public:
    /// `home`: the worker's folder, which exists; there it gets an empty one of kMaxScratch.
    /// `needed`: paths that must be as they are although they may lie below a folder that is
    /// hidden.
    Namespaces(const std::string& home, const std::vector<std::string>& needed);

    /// For a process just forked, with one thread: moves it into the namespaces, and whatever it
    /// forks from here on into one of processes. False with errno: the kernel, a container or a
    /// security module allows none; the process can only end then.
    [[nodiscard]] bool enter() const;

    /// After enter(): the first process of the namespace, with which all others end. It ends when
    /// `lifeline`, which only the caller holds, closes. -1 with errno where /proc can't be mounted:
    /// CUDA's cuInit is 304 in a namespace of processes without its own (580.159 on an H200).
    [[nodiscard]] static pid_t start_first_process(int& lifeline);

private:
    /// A path of the machine that stays visible below a hidden folder.
    struct Shown {
        std::string path = {};
        bool is_folder = true;
    };
    struct Hidden {
        std::string path = {};
        std::string options = {};               ///< of the tmpfs that covers it
        bool is_sealed = false;                 ///< read-only once what is shown is there
        std::vector<std::string> folders = {};  ///< to make first, down to its own
        std::vector<Shown> shown = {};
    };

    [[nodiscard]] bool map_user() const;
    [[nodiscard]] static bool cover(const Hidden& folder);
    void show(const std::string& path);
    void show_around(const std::string& path);

    std::vector<Hidden> hidden_ = {};
    std::string uid_map_ = {};
    std::string gid_map_ = {};
};

}  // namespace gpuprobe::inline probe
