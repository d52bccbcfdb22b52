// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <zlib.h>

namespace gpuprobe::support {

/// A file in the format of store/state_files.h, in a folder that exists as long as the program. The
/// checksum is always correct, so that a search reaches the parser. Unit tests use wrong checksums.
class KeptFile {
public:
    KeptFile(const std::string& name, std::string_view magic)
        : folder_{made_folder()}, path_{folder_ + "/" + name}, magic_{magic} {}
    KeptFile(const KeptFile&) = delete;
    KeptFile& operator=(const KeptFile&) = delete;
    ~KeptFile() { std::filesystem::remove_all(folder_); }

    void write(std::string_view document) const {
        const auto sum =
            ::crc32_z(0, reinterpret_cast<const Bytef*>(document.data()), document.size());
        char digits[9] = {};
        std::snprintf(digits, sizeof digits, "%08lx", sum);
        std::ofstream file{path_, std::ios::binary | std::ios::trunc};
        file << magic_ << ' ' << digits << '\n' << document;
        if (!file.flush() || ::chmod(path_.c_str(), 0600) != 0)
            std::abort();
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::string& folder() const { return folder_; }

private:
    static std::string made_folder() {
        std::string pattern = std::filesystem::temp_directory_path() / "gpuprobe-fuzz.XXXXXX";
        if (::mkdtemp(pattern.data()) == nullptr)
            std::abort();
        return pattern;
    }

    std::string folder_;
    std::string path_;
    std::string magic_;
};

}  // namespace gpuprobe::support
