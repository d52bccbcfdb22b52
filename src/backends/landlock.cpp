// SPDX-License-Identifier: Apache-2.0
#include "backends/landlock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"
#include "base/handle.h"

namespace gpuprobe::backends {
namespace {

// Headers of older systems lack the newer half: include/uapi/linux/landlock.h of Linux 6.15.
struct Ruleset {
    std::uint64_t files = 0;
    std::uint64_t network = 0;
    std::uint64_t scopes = 0;
};
struct [[gnu::packed]] PathRule {
    std::uint64_t allowed = 0;
    std::int32_t folder = -1;
};
constexpr unsigned kAskVersion = 1;
constexpr int kPathRule = 1;
constexpr unsigned kLogNothing = 1;  ///< LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
constexpr int kLogVersion = 7;

constexpr std::uint64_t bit(int number) {
    return std::uint64_t{1} << static_cast<unsigned>(number);
}
constexpr auto kWrite = bit(1);
constexpr auto kTruncate = bit(14);
constexpr auto kDeviceIoctl = bit(15);
/// Removing and making of all kinds, renaming between folders.
constexpr auto kChange = bit(4) | bit(5) | bit(7) | bit(8) | bit(9) | bit(10) | bit(12) | bit(13);
/// Making device nodes, which nobody may.
constexpr auto kMakeNode = bit(6) | bit(11);

struct Version {
    int since = 1;
    std::uint64_t files = 0;
    std::uint64_t network = 0;
    std::uint64_t scopes = 0;
};
constexpr std::array kVersions = {
    Version{.since = 1, .files = kWrite | kMakeNode | (kChange & ~bit(13))},
    Version{.since = 2, .files = bit(13)},
    Version{.since = 3, .files = kTruncate},
    Version{.since = 4, .network = bit(0) | bit(1)},  // to bind and to connect TCP sockets
    Version{.since = 5, .files = kDeviceIoctl},
    Version{.since = 6, .scopes = bit(0) | bit(1)},  // abstract Unix sockets, signals
};

/// What drivers open in /dev; "*" stands for any end. Sources: the nodes that the kernel's DRM,
/// accel, KFD and DMA-BUF heaps make; NVIDIA's README, "NVIDIA device nodes", with Tegra's; WSL's
/// dxgkrnl; Arm's kbase, Qualcomm's kgsl, Imagination's pvrsrvkm.
constexpr std::array<std::string_view, 20> kNodes = {
    "null",    "zero",      "full",    "random",  "urandom", "dri",    "accel",
    "kfd",     "dxg",       "nvidia*", "nvhost*", "nvmap",   "nvgpu",  "dma_heap",
    "udmabuf", "tegra_dc*", "mali*",   "kgsl*",   "pvr*",    "galcore"};

bool is_driver_node(std::string_view name) {
    return std::ranges::any_of(kNodes, [name](std::string_view pattern) {
        return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                      : name == pattern;
    });
}

bool is_folder_or_device(const UniqueFd& file) {
    struct stat info = {};
    return ::fstat(file.get(), &info) == 0 && (S_ISDIR(info.st_mode) || S_ISCHR(info.st_mode));
}

/// Returns the place that the rule is about; empty where it is none of this machine's.
UniqueFd allow(const UniqueFd& rules, const std::string& path, std::uint64_t access) {
    UniqueFd file{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    if (!file || !is_folder_or_device(file))
        return {};
    const PathRule rule{.allowed = access, .folder = file.get()};
    (void)::syscall(__NR_landlock_add_rule, rules.get(), kPathRule, &rule, 0);
    return file;
}

/// CUDA names its threads there, and its cuInit is 304 where it may not (580.159 on an H200). The
/// place stays open: procfs makes another one, without the rule, once it has forgotten this.
void allow_own_threads(const UniqueFd& rules, std::uint64_t access) {
    (void)allow(rules, "/proc/self/task", access).release();
}

void allow_nodes(const UniqueFd& rules, std::uint64_t access) {
    std::error_code ignored;
    for (auto node = std::filesystem::directory_iterator{"/dev", ignored};
         node != std::filesystem::directory_iterator{}; node.increment(ignored))
        if (is_driver_node(node->path().filename().string()))
            (void)allow(rules, node->path().string(), access);
}

Ruleset ruleset_of(int version) {
    Ruleset all;
    for (const auto& step : kVersions)
        if (version >= step.since) {
            all.files |= step.files;
            all.network |= step.network;
            all.scopes |= step.scopes;
        }
    return all;
}

}  // namespace

Result<int> confine_files() {
    const auto version = static_cast<int>(
        ::syscall(__NR_landlock_create_ruleset, nullptr, std::size_t{0}, kAskVersion));
    if (version < 1)
        return Error{ErrorCode::Unavailable, errno_error("Landlock", errno).text};
    const auto handled = ruleset_of(version);
    const UniqueFd rules{
        static_cast<int>(::syscall(__NR_landlock_create_ruleset, &handled, sizeof handled, 0U))};
    if (!rules)
        return Error{ErrorCode::Internal, errno_error("Landlock", errno).text};
    (void)allow(rules, ".", handled.files & ~kMakeNode);
    allow_own_threads(rules, handled.files & (kWrite | kTruncate));
    allow_nodes(rules, handled.files & (kWrite | kTruncate | kDeviceIoctl));
    if (::syscall(__NR_landlock_restrict_self, rules.get(),
                  version >= kLogVersion ? kLogNothing : 0U) != 0)
        return Error{ErrorCode::Internal, errno_error("Landlock", errno).text};
    return version;
}

}  // namespace gpuprobe::backends
