// SPDX-License-Identifier: Apache-2.0
#include "inventory/installed_build.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <set>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/text.h"
#include "inventory/object_file.h"
#include "report/api_table.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxUnread = 16;
constexpr std::size_t kMaxKindWords = 64;  ///< limit for words in each list of a part

/// A program or library that belongs to the build.
struct Object {
    std::string folder = {};  ///< absolute path
    std::string name = {};    ///< file name
    ObjectFile file = {};
    std::vector<const Object*> beside = {};  ///< objects of the build that this object needs
    /// A GPU vendor's library, whose kernels do not belong to the application.
    bool is_runtime = false;
    bool is_needed = false;  ///< another object of the build needs this object
};

bool is_file(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// True for libraries of GPU vendors.
bool is_runtime(std::string_view name) {
    const auto info = library_info(name);
    return info && info->api;
}

/// The absolute path of a search folder that a file names; nullopt if the path is unknown on this
/// machine.
std::optional<std::string> place_from(std::string text,
                                      const std::string& folder,
                                      const LinkerPlaces& places) {
    for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"})
        if (text.starts_with(origin))
            return folder + text.substr(origin.size());
    const bool is_plain = text.starts_with('/') && text.find('$') == std::string::npos;
    return is_plain && places.is_here ? std::optional{std::move(text)} : std::nullopt;
}

/// Reads the programs and libraries of a build with read_file() or read_folder(); build() then
/// returns the result.
class BuildReader {
public:
    explicit BuildReader(const LinkerPlaces& places) : places_{places} {}

    /// Reads one program or library, and the libraries in the same folder that it needs.
    Status read_file(const std::string& path) {
        const auto slash = path.rfind('/');
        root_ = path.substr(0, slash);
        const UniqueFd folder{::open((root_ + "/").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        if (!folder)
            return errno_error(root_, errno);
        auto problem = read_one(folder.get(), root_, path.substr(slash + 1));
        if (!problem)
            return std::move(problem).error().in(path);
        if (objects_.empty())
            return Error{ErrorCode::Malformed, path + ": not a 64-bit ELF program or library"};
        asked_ = &objects_.front();
        // Read the libraries in the same folder that the object needs, and the libraries that these
        // libraries need: `objects_` grows in the loop.
        for (std::size_t i = 0; i < objects_.size(); ++i)
            for (const auto& soname : std::vector{objects_[i].file.needed})
                if (!by_name_.contains(soname) && soname.find('/') == std::string::npos)
                    // Libraries that are missing become needs.
                    (void)read_one(folder.get(), root_, soname);
        return Done{};
    }

    /// Reads all programs and libraries in a folder and its subfolders.
    Status read_folder(const std::string& path) {
        root_ = path;
        UniqueFd folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        if (!folder)
            return errno_error(path, errno);
        auto walked = walk(std::move(folder), path, 0);
        if (!walked)
            return std::move(walked).error().in(path);
        if (objects_.empty())
            return Error{ErrorCode::Malformed,
                         path + ": contains no 64-bit ELF program or library"};
        return Done{};
    }

    /// The parts of the build: the requested file or, for a folder, each object that no other
    /// object loads or that has kernels, except the GPU vendors' libraries.
    InstalledBuild build() {
        join();
        InstalledBuild build{.unread = std::move(unread_)};
        std::set<Api> apis;
        for (const auto& object : objects_) {
            const bool is_root =
                asked_ ? &object == asked_
                       : !object.is_runtime && (!object.is_needed || !object.file.code.empty());
            if (!is_root)
                continue;
            std::set<Api> used;
            auto part = part_of(object, used);
            apis.merge(std::set{used});
            if (!used.empty())
                add_part(std::move(part), build);
        }
        std::ranges::sort(build.parts, {}, &InstalledPart::name);
        build.apis.assign(apis.begin(), apis.end());
        return build;
    }

private:
    /// Visits the entries of a folder in the order of their names, so that the result is
    /// reproducible.
    Status walk(UniqueFd folder, const std::string& path, std::size_t depth) {
        if (depth > kMaxBuildDepth)
            return Error{ErrorCode::TooLarge, "folders are nested more than 16 levels deep"};
        const int fd = folder.get();
        const CHandle<DIR, ::closedir> names{::fdopendir(fd)};
        if (!names)
            return errno_error(path, errno);
        (void)folder.release();  // the stream now owns the descriptor
        std::vector<std::string> sorted;
        while (const auto* entry = ::readdir(names.get())) {
            const std::string name{static_cast<const char*>(entry->d_name)};
            if (name == "." || name == "..")
                continue;
            if (++files_ > kMaxBuildFiles)
                return Error{ErrorCode::TooLarge, "more than 20000 files"};
            sorted.push_back(name);
        }
        std::ranges::sort(sorted);
        for (const auto& name : sorted)
            TRY(visit(fd, path, name, depth));
        return Done{};
    }

    /// Reads a file or walks a subfolder. An entry that cannot be read is noted and skipped. The
    /// walk ends early only if a limit is exceeded.
    Status visit(int folder, const std::string& path, const std::string& name, std::size_t depth) {
        struct stat status {};
        if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return Done{};  // the entry was removed after it was listed
        if (S_ISDIR(status.st_mode)) {
            UniqueFd next{
                ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
            if (!next) {
                note_unread(path + "/" + name, std::generic_category().message(errno));
                return Done{};
            }
            return walk(std::move(next), path + "/" + name, depth + 1);
        }
        if (!S_ISREG(status.st_mode))
            return Done{};
        auto read = read_one(folder, path, name);
        if (!read && read.error().code == ErrorCode::TooLarge)
            return read;
        if (!read)
            note_unread(path + "/" + name, read.error().text);
        return Done{};
    }

    /// Adds the file to `objects_` if it is a program or library. Other files are skipped without
    /// an error.
    Status read_one(int folder, const std::string& path, const std::string& name) {
        // O_NONBLOCK avoids blocking if the file was replaced by a FIFO, which is refused below.
        UniqueFd fd{::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
        if (!fd)
            return Error{ErrorCode::PermissionDenied, std::generic_category().message(errno)};
        struct stat status {};
        if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
            return Error{ErrorCode::Io, "not a regular file"};
        FilePieces pieces{std::move(fd), static_cast<std::uint64_t>(status.st_size), allowance_};
        const bool is_vendors = is_runtime(name);
        auto file = TRY(read_object(pieces, is_vendors ? ReadDepth::Needs : ReadDepth::Code));
        if (!file)
            return Done{};
        if (objects_.size() == kMaxBuildObjects)
            return Error{ErrorCode::TooLarge, "more than 4096 programs and libraries"};
        auto& object = objects_.emplace_back(Object{
            .folder = path, .name = name, .file = std::move(*file), .is_runtime = is_vendors});
        by_name_.emplace(name, &object);
        if (!object.file.soname.empty())
            by_name_.emplace(object.file.soname, &object);
        return Done{};
    }

    void note_unread(const std::string& path, const std::string& why) {
        if (unread_.size() < kMaxUnread)
            unread_.push_back(scrubbed(relative(path) + ": " + why));
    }

    /// The file's path relative to the build's folder.
    [[nodiscard]] std::string relative(const std::string& path) const {
        return path.starts_with(root_ + "/") ? path.substr(root_.size() + 1) : path;
    }

    /// Connects each object to the objects of the build that it needs.
    void join() {
        for (auto& object : objects_)
            for (const auto& soname : object.file.needed)
                if (const auto found = by_name_.find(soname);
                    found != by_name_.end() && found->second != &object) {
                    object.beside.push_back(found->second);
                    found->second->is_needed = true;
                }
    }

    /// An object, and all objects of the build that it loads, directly or indirectly.
    [[nodiscard]] static std::vector<const Object*> closure_of(const Object& root) {
        std::vector<const Object*> all{&root};
        std::set<const Object*> seen{&root};
        for (std::size_t i = 0; i < all.size(); ++i)
            for (const auto* next : all[i]->beside)
                if (seen.insert(next).second)
                    all.push_back(next);
        return all;
    }

    /// True if the library is in the build or in a folder in which the object searches.
    [[nodiscard]] bool is_beside(const Object& object, const std::string& soname) const {
        if (by_name_.contains(soname) || soname.find('/') != std::string::npos)
            return by_name_.contains(soname);
        if (is_file(object.folder + "/" + soname))
            return true;
        return std::ranges::any_of(object.file.search, [&](const std::string& text) {
            const auto place = place_from(text, object.folder, places_);
            return place && is_file(*place + "/" + soname);
        });
    }

    /// True if the dynamic linker finds the library on this machine, and if reports don't list the
    /// library. A library that is found on this machine does not count as a need.
    [[nodiscard]] bool is_found_here(const std::string& soname) const {
        return !is_listed_library(soname) && std::ranges::binary_search(places_.sonames, soname);
    }

    /// The needs, bundled libraries and kernels of an object and of all objects that it loads.
    struct Gathered {
        std::set<std::string> needs = {};
        std::set<std::string> bundles = {};
        std::set<std::string> kernels = {};
        std::set<Api> apis = {};
        std::optional<Version> glibc = {};
    };

    /// Adds one library that an object needs.
    void gather(const Object& object, const std::string& soname, Gathered& out) const {
        const auto info = library_info(soname);
        const bool is_of_api = info && info->api;
        if (is_of_api && !object.is_runtime)
            out.apis.insert(*info->api);
        if (!is_beside(object, soname)) {
            if (!is_base_library(soname) && !is_found_here(soname))
                out.needs.insert(soname);
        } else if (is_of_api) {
            out.bundles.insert(soname);
        }
    }

    /// Adds the libraries, kernels and APIs of one object to the part.
    void gather(const Object& object, Gathered& out) const {
        for (const auto& soname : object.file.needed)
            gather(object, soname, out);
        for (const auto& word : object.file.code) {
            out.kernels.insert(word);
            if (const auto api = api_of_code(word))
                out.apis.insert(*api);
        }
        out.apis.insert(object.file.loads.begin(), object.file.loads.end());
        out.glibc = std::max(out.glibc, object.file.glibc);
    }

    /// Describes a part. Sets `used` to the APIs that the part uses.
    [[nodiscard]] InstalledPart part_of(const Object& root, std::set<Api>& used) const {
        Gathered all;
        for (const auto* object : closure_of(root))
            gather(*object, all);
        // Add the names of all APIs, because an API may be used without kernels or libraries that
        // show its use.
        for (const auto api : all.apis)
            all.kernels.insert(std::string{info_of(api).word});
        if (all.glibc)
            all.needs.insert("glibc>=" + text_of(*all.glibc));
        used = std::move(all.apis);
        return {.name = scrubbed(relative(root.folder + "/" + root.name), 128),
                .needs = limited(all.needs),
                .bundles = limited(all.bundles),
                .kernels = limited(all.kernels)};
    }

    [[nodiscard]] static std::vector<std::string> limited(const std::set<std::string>& words) {
        std::vector<std::string> list{words.begin(), words.end()};
        if (list.size() > kMaxKindWords)
            list.resize(kMaxKindWords);
        return list;
    }

    /// Adds a part, unless an equal part is already listed. A folder may contain many programs with
    /// equal needs.
    void add_part(InstalledPart part, InstalledBuild& build) {
        const auto is_same = [&part](const InstalledPart& other) {
            return other.needs == part.needs && other.bundles == part.bundles &&
                   other.kernels == part.kernels;
        };
        if (std::ranges::any_of(build.parts, is_same))
            return;
        if (build.parts.size() == kMaxBuildParts)
            note(build, part.name);
        else
            build.parts.push_back(std::move(part));
    }

    static void note(InstalledBuild& build, const std::string& name) {
        if (build.unread.size() < kMaxUnread)
            build.unread.push_back(name + ": only the first 16 files that use GPUs are read");
    }

    const LinkerPlaces& places_;
    std::string root_ = {};
    std::deque<Object> objects_ = {};
    std::map<std::string, Object*, std::less<>> by_name_ = {};
    const Object* asked_ = nullptr;  ///< the file, if a single file was requested
    ReadAllowance allowance_ = {};
    std::size_t files_ = 0;
    std::vector<std::string> unread_ = {};
};

}  // namespace

Result<InstalledBuild> read_installed_build(const std::string& path, const LinkerPlaces& places) {
    const CHandle<char, std::free> real{::realpath(path.c_str(), nullptr)};
    if (!real)
        return errno_error(path, errno);
    struct stat status {};
    if (::stat(real.get(), &status) != 0)
        return errno_error(path, errno);
    BuildReader reader{places};
    if (S_ISDIR(status.st_mode))
        TRY(reader.read_folder(real.get()));
    else if (S_ISREG(status.st_mode))
        TRY(reader.read_file(real.get()));
    else
        return Error{ErrorCode::Io, path + ": not a file or folder"};
    return reader.build();
}

}  // namespace gpuprobe::inline inventory
