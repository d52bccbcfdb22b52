// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace gpuprobe::support {

/// A folder that is removed at the end of the test.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern = ::testing::TempDir() + "gpuprobe.XXXXXX";
        path_ = ::mkdtemp(pattern.data());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }

    [[nodiscard]] const std::string& path() const { return path_; }

    /// Writes a file below the folder, and creates missing folders in its path.
    void write(const std::string& name, const std::string& content) const {
        const std::filesystem::path file = path_ + "/" + name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream{file, std::ios::binary} << content;
    }
    void link(const std::string& name, const std::string& target) const {
        const std::filesystem::path file = path_ + "/" + name;
        std::filesystem::create_directories(file.parent_path());
        std::filesystem::create_symlink(target, file);
    }
    void folder(const std::string& name) const {
        std::filesystem::create_directories(path_ + "/" + name);
    }

private:
    std::string path_ = {};
};

}  // namespace gpuprobe::support
