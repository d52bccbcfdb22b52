// SPDX-License-Identifier: Apache-2.0
#include "cli/model_file.h"

#include <algorithm>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/handle.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

/// Enough for the header of most models; each try reads four times as much.
constexpr Bytes kFirstWindow = mib(2);
constexpr std::uint64_t kGrowth = 4;
constexpr std::string_view kStandardInput = "-";
constexpr Bytes kEndless{std::numeric_limits<std::uint64_t>::max()};

/// A file, or standard input, that is read from its start, further and further.
class ModelFile {
public:
    static Result<ModelFile> open(const std::string& path) {
        if (path == kStandardInput)
            return ModelFile{path, UniqueFd{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)}, kEndless};
        // Never waits: a FIFO that nobody writes to is refused like any other that is no file.
        UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
        if (!fd)
            return errno_error(path, errno);
        struct stat status {};
        if (::fstat(fd.get(), &status) != 0)
            return errno_error(path, errno);
        if (!S_ISREG(status.st_mode))
            return Error{ErrorCode::Io, path + ": not a regular file"};
        return ModelFile{path, std::move(fd), Bytes{static_cast<std::uint64_t>(status.st_size)}};
    }

    /// Of standard input, more than anything until it has ended.
    [[nodiscard]] Bytes size() const { return size_; }
    [[nodiscard]] const std::string& window() const { return window_; }

    /// Errors: Io; TooLarge when the file is shorter than it was.
    Status extend_to(Bytes length) {
        const auto wanted = std::min(length, size_).count;
        while (window_.size() < wanted) {
            const auto before = window_.size();
            window_.resize(wanted);
            const auto got = read_at(before, wanted - before);
            window_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            if (got < 0 && errno != EINTR)
                return errno_error(path_, errno);
            if (got == 0 && path_ != kStandardInput)
                return Error{ErrorCode::Io, path_ + ": became shorter while it was read"};
            if (got == 0) {
                size_ = Bytes{before};
                return Done{};
            }
        }
        return Done{};
    }

private:
    ssize_t read_at(std::size_t before, std::size_t count) {
        auto* const place = window_.data() + before;
        return path_ == kStandardInput
                   ? ::read(fd_.get(), place, count)
                   : ::pread(fd_.get(), place, count, static_cast<off_t>(before));
    }

    ModelFile(std::string path, UniqueFd fd, Bytes size)
        : path_{std::move(path)}, fd_{std::move(fd)}, size_{size} {}

    std::string path_;
    UniqueFd fd_;
    Bytes size_ = {};
    std::string window_ = {};
};

Result<Gguf> read_header(const std::string& path, bool is_beginning) {
    auto file = TRY(ModelFile::open(path));
    const Bytes claimed = is_beginning ? kEndless : file.size();
    for (auto window = kFirstWindow;; window.count *= kGrowth) {
        window = std::min(window, kMaxGgufHeader);
        TRY(file.extend_to(window));
        auto gguf = parse_gguf(file.window(), claimed);
        if (!gguf)
            return std::move(gguf).error().in(path);
        if (*gguf)
            return std::move(**gguf);
        if (file.window().size() == file.size().count)
            return Error{ErrorCode::Malformed, path + ": the header goes on behind its end"};
        if (window == kMaxGgufHeader)
            return Error{ErrorCode::TooLarge, path + ": its header is over 128 MiB"};
    }
}

/// "" for a name without a folder.
std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// What a part holds nobody knows but its own header.
Result<Gguf> read_parts(const std::string& folder, const GgufPart& part, bool is_beginning) {
    std::vector<Gguf> headers;
    for (std::uint32_t number = 1; number <= part.count; ++number) {
        auto header = read_header(folder + gguf_part_name(part, number), is_beginning);
        if (!header)
            return std::move(header).error().in(
                phrase(is_beginning ? "one of {count} parts, each by its beginning"
                                    : "one of {count} parts",
                       {{"count", std::to_string(part.count)}}));
        headers.push_back(std::move(*header));
    }
    auto whole = joined(std::move(headers));
    if (!whole)
        return std::move(whole).error().in(folder + part.stem);
    return whole;
}

}  // namespace

Result<Gguf> read_model_file(const std::string& path, bool is_beginning) {
    const auto folder = folder_of(path);
    const auto part = gguf_part(std::string_view{path}.substr(folder.size()));
    if (part && part->count > kMaxGgufParts)
        return Error{ErrorCode::TooLarge,
                     phrase("{file}: one of {count} parts, but at most {most} are read",
                            {{"file", path},
                             {"count", std::to_string(part->count)},
                             {"most", std::to_string(kMaxGgufParts)}})};
    if (part && part->count > 1)
        return read_parts(folder, *part, is_beginning);
    auto gguf = TRY(read_header(path, is_beginning));
    const auto parts = gguf.number("split.count").value_or(1);
    if (parts > 1)
        return Error{
            ErrorCode::Malformed,
            phrase(
                path == kStandardInput
                    ? "{file}: one of {count} parts, but standard input has only one: give the file"
                    : "{file}: one of {count} parts, which are found by names like "
                      "model-00001-of-00002.gguf",
                {{"file", path}, {"count", std::to_string(parts)}})};
    return gguf;
}

}  // namespace gpuprobe::inline cli
