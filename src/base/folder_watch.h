// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/result.h"

namespace gpuprobe::inline base {

/// Watches folders and reports when files with certain endings were written, moved or deleted.
class FolderWatch {
public:
    /// `changed` is called after changes, once there has been no further change for `settle`.
    /// Folders that do not exist when begin() is called are not watched. Errors: Unavailable if
    /// inotify cannot be used.
    static Result<std::unique_ptr<FolderWatch>> begin(EventLoop& loop,
                                                      const std::vector<std::string>& folders,
                                                      std::vector<std::string> endings,
                                                      Duration settle,
                                                      std::function<void()> changed);

private:
    FolderWatch(EventLoop& loop,
                UniqueFd fd,
                std::vector<std::string> endings,
                Duration settle,
                std::function<void()> changed);
    void read_events();

    EventLoop& loop_;
    UniqueFd fd_;
    std::vector<std::string> endings_;
    Duration settle_;
    std::function<void()> changed_;
    EventHandle reading_ = {};
    EventHandle settling_ = {};
};

}  // namespace gpuprobe::inline base
