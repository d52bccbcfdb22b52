// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace gpuprobe::backends {

/// A function of a type that is yet to be said.
using AnyFunction = void (*)();

/// A vendor library, loaded at run time and never unloaded: drivers leave threads and exit handlers
/// behind that a dlclose would pull the ground from.
class DynamicLibrary {
public:
    /// `name`: the run-time soname ("libvulkan.so.1"), never the development link ("libcuda.so" is
    /// a stub in toolkits), or a path.
    /// Errors: NotFound when there is no such library; Io with the linker's words when there is one
    /// that does not load (missing dependency, wrong class, executable stack refused).
    static Result<DynamicLibrary> open(const std::string& name);

    /// The function of that name; null when there is none. Tables of them: symbols.h.
    [[nodiscard]] AnyFunction find(const char* function) const;

    /// As it was asked for.
    [[nodiscard]] const std::string& name() const { return name_; }
    /// The file that the dynamic linker took; nullopt when it does not say.
    [[nodiscard]] std::optional<std::string> path() const;

private:
    DynamicLibrary(std::string name, void* handle) : name_{std::move(name)}, handle_{handle} {}

    std::string name_;
    void* handle_ = nullptr;
};

/// What a refused dlopen means: NotFound only when the library asked for is itself not there.
/// Source: glibc, elf/dl-load.c ("NAME: cannot open shared object file: No such file or directory")
/// and musl, ldso/dynlink.c ("Error loading shared library NAME: No such file or directory").
ErrorCode dlopen_failure(std::string_view name, std::string_view linker_message);

}  // namespace gpuprobe::backends
