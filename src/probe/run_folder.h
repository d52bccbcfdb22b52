// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace gpuprobe::inline probe {

/// A folder for as long as this object lives; then it goes, with all that anybody made in it. What
/// takes long to remove goes beside whatever is done next. For one thread.
class RunFolder {
public:
    /// `parent`/`word`-PID-XXXXXX, for its owner alone; in /tmp if other users can exchange what is
    /// in `parent`. Removes those that processes which have ended left there. Errors: those of
    /// mkdtemp(3) and open_folder().
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
