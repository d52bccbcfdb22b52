// SPDX-License-Identifier: Apache-2.0
#include "backends/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include "base/text.h"

namespace gpuprobe::backends {

ErrorCode dlopen_failure(std::string_view name, std::string_view linker_message) {
    const std::string asked{name};
    // "No such file" can also mean a missing dependency, so the message must name our library too.
    const bool is_gone = linker_message.find("No such file or directory") != std::string_view::npos;
    const bool is_itself =
        linker_message.starts_with(asked + ": cannot open") ||
        linker_message.starts_with("Error loading shared library " + asked + ":");
    // For a missing dependency, musl also names the library that needs it: "Error loading … (needed
    // by …)".
    const bool is_needed = linker_message.find("(needed by ") != std::string_view::npos;
    return is_gone && is_itself && !is_needed ? ErrorCode::NotFound : ErrorCode::Io;
}

Result<DynamicLibrary> DynamicLibrary::open(const std::string& name) {
    // RTLD_NOW reports missing symbols here instead of crashing at the first call.
    void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
        return DynamicLibrary{name, handle};
    const char* const words = ::dlerror();
    std::string message = words ? words : "no reason given";
    // Landlock refuses files outside readable_places(). The linker's message does not reveal that,
    // so add a hint.
    if (message.find("Permission denied") != std::string::npos)
        message += "; drivers may read what gpuprobe-worker --readable lists";
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

}  // namespace gpuprobe::backends
