// SPDX-License-Identifier: Apache-2.0
#include "backends/driver_library.h"

#include <cerrno>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

/// The answer for a failed DynamicLibrary::open().
Answer not_loaded(const Error& problem) {
    const bool is_absent = problem.code == ErrorCode::NotFound;
    return Answer{.outcome = is_absent ? Outcome::Absent : Outcome::Failed, .note = problem.text};
}

}  // namespace

ErrorCode dlopen_failure(std::string_view name, std::string_view linker_message) {
    const std::string asked{name};
    // "No such file" can also mean a missing dependency, so the message must also contain the name
    // of our library.
    const bool is_gone = linker_message.find("No such file or directory") != std::string_view::npos;
    const bool is_itself =
        linker_message.starts_with(asked + ": cannot open") ||
        linker_message.starts_with("Error loading shared library " + asked + ":");
    // For a missing dependency, musl also names the library that needs it, as in "Error loading …
    // (needed by …)".
    const bool is_needed = linker_message.find("(needed by ") != std::string_view::npos;
    return is_gone && is_itself && !is_needed ? ErrorCode::NotFound : ErrorCode::Io;
}

Result<DynamicLibrary> DynamicLibrary::open(const std::string& name) {
    // With RTLD_NOW, missing symbols are reported here; otherwise the first call of a missing
    // function would crash.
    void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
        return DynamicLibrary{name, handle};
    const char* const words = ::dlerror();
    std::string message = words ? words : "no reason given";
    // Landlock refuses files outside readable_places(). The linker's message does not mention
    // Landlock, so add a hint.
    if (message.find("Permission denied") != std::string::npos)
        message += "; drivers may read only the files that gpuprobe-worker --readable lists";
    return Error{dlopen_failure(name, message), scrubbed("dlopen: " + message)};
}

AnyFunction DynamicLibrary::find(const char* function) const {
    return reinterpret_cast<AnyFunction>(::dlsym(handle_, function));
}

std::optional<std::string> DynamicLibrary::path() const {
    link_map* map = nullptr;
    if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name || !*map->l_name)
        return std::nullopt;
    return scrubbed(map->l_name);
}

Asked<DynamicLibrary> open_library(const std::string& name, Sink& sink) {
    sink.phase("dlopen");
    auto library = DynamicLibrary::open(name);
    if (!library)
        return not_loaded(library.error());
    return *std::move(library);
}

Value runtime_of(const DynamicLibrary& library) {
    return Value{Value::Object{{"loader", Value{library.path().value_or(library.name())}}}};
}

std::optional<Answer> without_library(const ProbeTarget& target) {
    if (!target.library)
        return std::nullopt;
    const auto library = DynamicLibrary::open(*target.library);
    if (library)
        return std::nullopt;
    auto answer = not_loaded(library.error());
    // The manifest is installed without its library, which is a packaging mistake that the user can
    // fix.
    if (answer.outcome == Outcome::Absent)
        answer.reasons = {because("driver-missing", {{"driver", target.driver},
                                                     {"library", *target.library},
                                                     {"note", library.error().text}})};
    return answer;
}

bool is_denied(const std::string& path, int error) {
    // EPERM can have other causes. A control group is the cause only if the file mode permits
    // access.
    return error == EPERM && ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
}

int open_for_use(const char* path) {
    return ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

void add_denial(const std::string& node,
                std::vector<Reason>& reasons,
                int (*open_node)(const char* path)) {
    const UniqueFd opened{open_node(node.c_str())};
    if (!opened && is_denied(node, errno))
        reasons.push_back(because("device-denied", {{"node", node}}));
}

}  // namespace gpuprobe::backends
