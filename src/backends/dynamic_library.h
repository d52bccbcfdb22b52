// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace gpuprobe::backends {

/// A function pointer whose real type is still unknown; cast it before calling.
using AnyFunction = void (*)();

/// A vendor library, loaded at run time and never unloaded. Drivers leave threads and exit handlers
/// behind, and a dlclose() would unmap their code.
class DynamicLibrary {
public:
    /// Loads a library. `name` is a path or the run-time soname ("libvulkan.so.1"), never the
    /// development link: in toolkits, "libcuda.so" is a stub.
    /// Errors: NotFound if the library is missing; Io with the dynamic linker's message if the
    /// library exists but does not load (missing dependency, wrong ELF class, executable stack
    /// refused).
    static Result<DynamicLibrary> open(const std::string& name);

    /// The function of that name, or null if the library does not export it. For tables of
    /// functions see symbols.h.
    [[nodiscard]] AnyFunction find(const char* function) const;

    /// The name that was passed to open().
    [[nodiscard]] const std::string& name() const { return name_; }
    /// The file that the dynamic linker loaded; nullopt if it does not report one.
    [[nodiscard]] std::optional<std::string> path() const;

private:
    DynamicLibrary(std::string name, void* handle) : name_{std::move(name)}, handle_{handle} {}

    std::string name_;
    void* handle_ = nullptr;
};

/// The error code for a failed dlopen(): NotFound only if the requested library itself is missing,
/// Io for everything else.
/// Source: glibc, elf/dl-load.c ("NAME: cannot open shared object file: No such file or directory")
/// and musl, ldso/dynlink.c ("Error loading shared library NAME: No such file or directory").
ErrorCode dlopen_failure(std::string_view name, std::string_view linker_message);

}  // namespace gpuprobe::backends
