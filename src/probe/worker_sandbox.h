// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/units.h"
#include "probe/target.h"

namespace gpuprobe::inline probe {

/// Folders below /run that drivers need: udev's database, the sockets of NVIDIA's helper daemons,
/// and the folders in which NixOS and container toolkits keep drivers.
inline constexpr std::array kRunPlaces = {
    "/run/udev",          "/run/nvidia-persistenced", "/run/nvidia-fabricmanager", "/run/nvidia",
    "/run/opengl-driver", "/run/opengl-driver-32",    "/run/current-system",       "/run/host",
};

/// The variable that is set if the launcher will call Worker::let_go(). Without this variable, the
/// worker ends after its answer.
constexpr const char* kStaysVariable = "GPUPROBE_STAYS";

using WorkerVariables = std::map<std::string, std::string>;

/// The complete environment of one worker. The worker inherits no variables: no display, no loader
/// debugging, no *_VISIBLE_DEVICES and no preloaded libraries, so that a probe depends on the
/// machine and not on a user's session. Exactly one driver and no layer is visible, and caches are
/// off or inside `home`.
///
/// `home`: a folder to which drivers may write. Without a writable folder, pocl finds no device.
/// `opencl_vendors`: a folder that contains only the driver's .icd file; "" without a driver.
/// `extra`: added last; replaces variables of the same name.
///
/// Sources: Vulkan loader, LoaderInterfaceArchitecture.md, "Table of Debug Environment Variables";
/// ocl-icd and the Khronos OpenCL loader (OCL_ICD_VENDORS); pocl, Mesa, NVIDIA and Intel NEO
/// manuals for their caches.
WorkerVariables worker_environment(const ProbeTarget& target,
                                   const std::string& home,
                                   const std::string& opencl_vendors,
                                   const WorkerVariables& extra);

/// The variables as "KEY=VALUE" strings, sorted by name.
std::vector<std::string> environment_block(const WorkerVariables& variables);

/// A temporary folder that is removed, with all its content, when this object is destroyed. Large
/// trees are deleted in the background. Not thread-safe.
class RunFolder {
public:
    /// Creates `parent`/`word`-PID-XXXXXX with access only for its owner. If other users can
    /// replace files in `parent`, creates the folder in /tmp instead. Also removes folders of this
    /// kind that ended processes left behind. Errors: the same as mkdtemp(3) and open_folder().
    static Result<RunFolder> make(const std::string& parent, const std::string& word);

    RunFolder(RunFolder&& other) noexcept;
    RunFolder& operator=(RunFolder&& other) noexcept;
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;
    ~RunFolder();

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    explicit RunFolder(std::string path) : path_{std::move(path)} {}

    std::string path_ = {};
};

/// Size limit of each writable folder of a worker. The folders exist only while the worker runs.
constexpr Bytes kMaxScratch = mib(256);

/// The Linux namespaces of one worker. Inside the namespaces, the worker sees only its own
/// processes, no network, no sockets in /tmp or in /run (except the sockets that drivers need; see
/// kRunPlaces), and no shared memory or message queues except its own. All files that the worker
/// writes are lost when the worker ends. The user and the groups stay the same, so the worker can
/// open the same device nodes as outside.
///
/// Construct this object before the fork. The functions for the forked process do not allocate.
class Namespaces {
public:
    /// `home`: the worker's folder, which must exist; inside the namespaces, an empty file system
    /// of kMaxScratch covers this folder. `needed`: paths that must stay visible even below a
    /// hidden folder.
    Namespaces(const std::string& home, const std::vector<std::string>& needed);

    /// Moves the calling process into the namespaces, and its future children into a new PID
    /// namespace. The calling process must be freshly forked and have one thread. Returns false and
    /// sets errno if the kernel, a container or a security module does not allow the namespaces; in
    /// that case, the process must exit.
    [[nodiscard]] bool enter() const;

    /// Call this after enter(). Starts the init process of the PID namespace; when the init process
    /// ends, all other processes in the namespace end. The init process ends when `lifeline`, which
    /// only the caller holds, is closed. Returns the pid of the init process, or -1 with errno if
    /// /proc can't be mounted: without a matching /proc, CUDA's cuInit fails with 304 in a PID
    /// namespace (580.159 on an H200).
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
        std::string options = {};  ///< mount options of the tmpfs
        bool is_sealed = false;  ///< whether the folder becomes read-only after `shown` is mounted
        std::vector<std::string> folders = {};  ///< folders to create first, outermost to innermost
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
