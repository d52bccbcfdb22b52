// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/units.h"

namespace gpuprobe::inline probe {

/// Size limit of each writable folder of a worker. The folders exist only while it runs.
constexpr Bytes kMaxScratch = mib(256);

/// The Linux namespaces of one worker. Inside, the worker sees only its own processes, no network,
/// no sockets in /tmp or in /run (except for drivers, driver_places.h), and no shared memory or
/// message queues except its own. Everything it writes disappears with it. User and groups stay the
/// same, so that device nodes open as before.
///
/// Constructed before the fork. The functions for the forked process do not allocate.
class Namespaces {
public:
    /// `home`: the worker's folder, which must exist; an empty file system of kMaxScratch covers it
    /// there. `needed`: paths that must stay visible even below a hidden folder.
    Namespaces(const std::string& home, const std::vector<std::string>& needed);

    /// Moves the calling process into the namespaces, and its future children into a new PID
    /// namespace. For a freshly forked process with one thread. Returns false and sets errno if the
    /// kernel, a container or a security module does not allow it; the process must exit then.
    [[nodiscard]] bool enter() const;

    /// Call after enter(). Starts the init process of the PID namespace; when it ends, all others
    /// end. It ends when `lifeline`, which only the caller holds, is closed. Returns its pid, or -1
    /// with errno if /proc can't be mounted: without a matching /proc, CUDA's cuInit fails with 304
    /// in a PID namespace (580.159 on an H200).
    [[nodiscard]] static pid_t start_first_process(int& lifeline);

private:
    /// A path that stays visible below a hidden folder.
    struct Shown {
        std::string path = {};
        bool is_folder = true;
    };
    /// A folder that is covered by an empty tmpfs.
    struct Hidden {
        std::string path = {};
        std::string options = {};               ///< mount options of the tmpfs
        bool is_sealed = false;                 ///< made read-only after `shown` is mounted
        std::vector<std::string> folders = {};  ///< created first, outermost to innermost
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
