// SPDX-License-Identifier: Apache-2.0
#include "inventory/node_watch.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <sys/epoll.h>
#include <sys/inotify.h>

#include "base/files.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::uint32_t kAppears = IN_CREATE | IN_MOVED_TO;
constexpr std::uint32_t kLeaves = IN_DELETE | IN_MOVED_FROM;
/// IN_ATTRIB reports that the owner, mode or access control list of a node has changed.
constexpr std::uint32_t kEvents = kAppears | kLeaves | IN_ATTRIB | IN_ONLYDIR;
constexpr std::size_t kMaxReads = 64;
constexpr std::array<std::string_view, 3> kSubfolders{"dri", "accel", "nvidia-caps"};

bool is_subfolder(std::string_view name) {
    for (const auto known : kSubfolders)
        if (name == known)
            return true;
    return false;
}

/// True for the names that GPU nodes and their folders have in /dev, where terminals and loop
/// devices appear and disappear frequently.
bool is_gpu_name(std::string_view name) {
    return name.starts_with("nvidia") || name == "dxg" || name == "kfd" || is_subfolder(name);
}

/// True for temporary names, under which udevd and nvidia-modprobe create a node before they rename
/// it.
bool is_temporary(std::string_view name) {
    return name.starts_with('.') || name.starts_with('#');
}

/// Parses the buffer that one read has filled; an incomplete event at the end is dropped.
std::vector<NodeWatch::Change> changes_in(std::string_view buffer) {
    std::vector<NodeWatch::Change> changes;
    while (buffer.size() >= sizeof(inotify_event)) {
        inotify_event event = {};
        std::memcpy(&event, buffer.data(), sizeof event);
        buffer.remove_prefix(sizeof event);
        if (event.len > buffer.size())
            break;
        const auto padded = buffer.substr(0, event.len);
        changes.push_back({.watch = event.wd,
                           .mask = event.mask,
                           .name = std::string{padded.substr(0, padded.find('\0'))}});
        buffer.remove_prefix(event.len);
    }
    return changes;
}

/// All pending changes, but at most kMaxReads buffers.
std::vector<NodeWatch::Change> read_changes(int fd) {
    std::vector<NodeWatch::Change> all;
    char buffer[16384];
    for (std::size_t i = 0; i < kMaxReads; ++i) {
        const auto count = ::read(fd, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        for (auto& change : changes_in({buffer, static_cast<std::size_t>(count)}))
            all.push_back(std::move(change));
    }
    return all;
}

}  // namespace

NodeWatch::NodeWatch(UniqueFd fd, std::string folder, HardwareMonitor::Callback changed)
    : fd_{std::move(fd)}, folder_{std::move(folder)}, changed_{std::move(changed)} {}

NodeWatch::~NodeWatch() = default;

Result<std::unique_ptr<NodeWatch>> NodeWatch::create(EventLoop& loop,
                                                     std::string folder,
                                                     HardwareMonitor::Callback changed) {
    UniqueFd fd{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    if (!fd)
        return Error{ErrorCode::Unavailable, errno_error("inotify", errno).text};
    std::unique_ptr<NodeWatch> watch{
        new NodeWatch{std::move(fd), std::move(folder), std::move(changed)}};
    if (!watch->add(watch->folder_))
        return Error{ErrorCode::Unavailable, errno_error(watch->folder_, errno).text};
    for (const auto name : kSubfolders)
        (void)watch->add(watch->folder_ + "/" +
                         std::string{name});  // may fail: most machines don't have all folders
    watch->ready_ = loop.watch(watch->fd_.get(), EPOLLIN, EventLoop::Priority::Hardware,
                               [raw = watch.get()](std::uint32_t) { raw->drain(); });
    if (!watch->ready_)
        return Error{ErrorCode::Unavailable, "inotify: cannot be watched"};
    return watch;
}

bool NodeWatch::add(const std::string& folder) {
    const int watch = ::inotify_add_watch(fd_.get(), folder.c_str(), kEvents);
    if (watch >= 0)
        folders_[watch] = folder;
    return watch >= 0;
}

/// True if the change may affect a scan. Starts to watch a subfolder that was just created.
bool NodeWatch::matters(const Change& change) {
    if (change.mask & IN_Q_OVERFLOW)
        return true;  // events were lost, so assume a change
    // If a folder was removed, inotify has dropped the watch.
    if (change.mask & IN_IGNORED)
        folders_.erase(change.watch);
    const auto found = folders_.find(change.watch);
    if (found == folders_.end() || change.name.empty() || is_temporary(change.name))
        return false;
    const bool is_top = found->second == folder_;
    if (is_top && (change.mask & kAppears) != 0 && is_subfolder(change.name))
        (void)add(folder_ + "/" +
                  change.name);  // may fail: on some systems, "nvidia-caps" is a plain node
    return !is_top || is_gpu_name(change.name);
}

void NodeWatch::drain() {
    bool has_changed = false;
    for (const auto& change : read_changes(fd_.get()))
        has_changed = matters(change) || has_changed;
    const auto changed = changed_;  // copied, because the callback may destroy this object
    if (has_changed)
        changed();
}

}  // namespace gpuprobe::inline inventory
