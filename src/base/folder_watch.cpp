// SPDX-License-Identifier: Apache-2.0
#include "base/folder_watch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/files.h"

namespace gpuprobe::inline base {
namespace {

/// A file counts as written when it is closed, so that readers never see half of it.
constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;

}  // namespace

FolderWatch::FolderWatch(EventLoop& loop,
                         UniqueFd fd,
                         std::vector<std::string> endings,
                         Duration settle,
                         std::function<void()> changed)
    : loop_{loop},
      fd_{std::move(fd)},
      endings_{std::move(endings)},
      settle_{settle},
      changed_{std::move(changed)} {
    reading_ = loop_.watch(fd_.get(), EPOLLIN, EventLoop::Priority::Idle,
                           [this](std::uint32_t) { read_events(); });
}

Result<std::unique_ptr<FolderWatch>> FolderWatch::begin(EventLoop& loop,
                                                        const std::vector<std::string>& folders,
                                                        std::vector<std::string> endings,
                                                        Duration settle,
                                                        std::function<void()> changed) {
    UniqueFd fd{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    if (!fd)
        return Error{ErrorCode::Unavailable, errno_error("inotify", errno).text};
    // Missing folders are expected: most administrators add no data files.
    for (const auto& folder : folders)
        (void)::inotify_add_watch(fd.get(), folder.c_str(), kEvents);
    return std::unique_ptr<FolderWatch>{
        new FolderWatch{loop, std::move(fd), std::move(endings), settle, std::move(changed)}};
}

void FolderWatch::read_events() {
    char buffer[16384];
    bool is_news = false;
    for (;;) {
        const auto count = ::read(fd_.get(), buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        std::string_view rest{buffer, static_cast<std::size_t>(count)};
        // Each event is followed by a name, padded with NUL to `len` bytes. See inotify(7).
        while (rest.size() >= sizeof(inotify_event)) {
            inotify_event event = {};
            std::memcpy(&event, rest.data(), sizeof event);
            rest.remove_prefix(sizeof event);
            const auto padded = rest.substr(0, event.len);
            rest.remove_prefix(padded.size());
            const auto name = padded.substr(0, padded.find('\0'));
            // After a queue overflow, events were lost, so assume a change.
            is_news = is_news || (event.mask & IN_Q_OVERFLOW) != 0 ||
                      std::ranges::any_of(endings_, [name](const std::string& ending) {
                          return name.ends_with(ending);
                      });
        }
    }
    if (is_news)
        // Replace a running timer, so that a series of changes is reported once.
        settling_ = loop_.after(settle_, [this] { changed_(); });
}

}  // namespace gpuprobe::inline base
