// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace gpuprobe::inline probe {

/// A temporary folder that is removed, with all its content, when this object is destroyed. Large
/// trees are deleted in the background. Not thread-safe.
class RunFolder {
public:
    /// Creates `parent`/`word`-PID-XXXXXX with access only for its owner; in /tmp instead if other
    /// users can replace files in `parent`. Also removes such folders of processes that have ended.
    /// Errors: the same as mkdtemp(3) and open_folder().
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

}  // namespace gpuprobe::inline probe
