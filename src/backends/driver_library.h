// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "base/result.h"
#include "report/outcome.h"

namespace gpuprobe::backends {

/// A pointer to a function whose type isn't known yet. Cast the pointer before you call the
/// function.
using AnyFunction = void (*)();

/// A vendor library that is loaded at run time and never unloaded. Drivers leave threads and exit
/// handlers behind, whose code dlclose() would unmap.
class DynamicLibrary {
public:
    /// Loads a library. `name` is a path or the run-time soname ("libvulkan.so.1"), never the name
    /// of a development link, because in CUDA toolkits, "libcuda.so" is a stub.
    /// Errors: NotFound if the library is missing; Io with the dynamic linker's message if the
    /// library exists but does not load (missing dependency, wrong ELF class, executable stack
    /// refused).
    static Result<DynamicLibrary> open(const std::string& name);

    /// The function named `function`, or null if the library does not export this function. Tables
    /// of functions are created with SymbolTable.
    [[nodiscard]] AnyFunction find(const char* function) const;

    /// The name that was passed to open().
    [[nodiscard]] const std::string& name() const { return name_; }
    /// The file that the dynamic linker loaded; nullopt if the linker does not report a file.
    [[nodiscard]] std::optional<std::string> path() const;

private:
    DynamicLibrary(std::string name, void* handle) : name_{std::move(name)}, handle_{handle} {}

    std::string name_;
    void* handle_ = nullptr;
};

/// The error code for a failed dlopen(), which is NotFound only if the requested library itself is
/// missing, and Io for everything else.
/// Source: glibc, elf/dl-load.c ("NAME: cannot open shared object file: No such file or directory")
/// and musl, ldso/dynlink.c ("Error loading shared library NAME: No such file or directory").
ErrorCode dlopen_failure(std::string_view name, std::string_view linker_message);

// The following templates are for C APIs that are loaded at run time: tables of functions, calls
// that return an error code, and owners of handles.

/// Base class for a table of the functions of one API. A table derives from this class and declares
/// each function as a Symbol or an OptionalSymbol, with the name to look up; load() creates the
/// table.
class SymbolTable {
public:
    using Lookup = std::function<AnyFunction(const char* name)>;
    explicit SymbolTable(Lookup lookup) : lookup_{std::move(lookup)} {}

    [[nodiscard]] AnyFunction find(const char* name) const { return lookup_(name); }
    /// Finds a function that the table requires. If the function does not exist, the table is
    /// incomplete.
    AnyFunction require(const char* name) {
        const auto function = find(name);
        if (!function && !missing_)
            missing_ = name;
        return function;
    }
    /// The first required function that is missing; null if all were found.
    [[nodiscard]] const char* missing() const { return missing_; }

private:
    Lookup lookup_;
    const char* missing_ = nullptr;
};

/// A function of a library and the name under which it was found. A Symbol is called like a
/// function pointer.
template <class Function>
struct Symbol {
    const char* name = nullptr;
    Function* address = nullptr;

    Symbol() = default;
    Symbol(SymbolTable& table, const char* symbol_name)
        : name{symbol_name}, address{reinterpret_cast<Function*>(table.require(symbol_name))} {}
    operator Function*() const { return address; }
};

/// The first function in a list of names that the library exports; null if the library exports no
/// function in the list.
template <class Function>
struct OptionalSymbol : Symbol<Function> {
    OptionalSymbol(SymbolTable& table, std::convertible_to<const char*> auto... names) {
        for (const char* const one : {static_cast<const char*>(names)...}) {
            if (this->address)
                break;
            this->name = one;
            this->address = reinterpret_cast<Function*>(table.find(one));
        }
    }
};

/// A complete table of functions. Errors: NotFound with the name of the first function that is
/// missing.
template <std::derived_from<SymbolTable> Table>
Result<Table> load(SymbolTable::Lookup lookup) {
    Table table{std::move(lookup)};
    if (const char* const name = table.missing())
        return Error{ErrorCode::NotFound, std::string{name} + ": no such function"};
    return table;
}
/// Loads the table from a library. The error also contains the name of the library.
template <std::derived_from<SymbolTable> Table>
Result<Table> load(const DynamicLibrary& library) {
    auto table = load<Table>([library](const char* name) { return library.find(name); });
    if (!table)
        return std::move(table).error().in(library.name());
    return table;
}

/// Calls a function that returns 0 for success. For any other code, the error is the result of
/// refuse(function name, code).
template <class Refuse, class Code, class... Parameters>
auto call(const Refuse& refuse,
          const Symbol<Code(Parameters...)>& function,
          std::type_identity_t<Parameters>... arguments)
    -> Result<Done, decltype(refuse(function.name, Code{}))> {
    if (const auto code = function(arguments...); code != Code{})
        return refuse(function.name, code);
    return Done{};
}

/// An owner of a handle. The function that releases the handle is looked up at run time. The result
/// of this function is ignored, because nothing can be done if the release fails.
template <class Handle>
class Owned {
public:
    using Release = std::function<void(Handle)>;

    Owned() = default;
    Owned(Handle handle, Release release) : handle_{handle}, release_{std::move(release)} {}
    Owned(Owned&& other) noexcept
        : handle_{std::exchange(other.handle_, Handle{})}, release_{std::move(other.release_)} {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(release_, other.release_);
        return *this;
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
        if (handle_)
            release_(handle_);
    }

    [[nodiscard]] Handle get() const { return handle_; }
    [[nodiscard]] const Handle* address() const { return &handle_; }
    explicit operator bool() const { return handle_ != Handle{}; }

private:
    Handle handle_ = {};  // some Vulkan handles are integers on 32-bit machines
    Release release_ = {};
};

// The following functions, which every backend needs, load a driver's library and look up functions
// in the library.

/// Reports the phase "dlopen" and loads the library. The answer is Absent if the library is
/// missing, and Failed if the library does not load.
Asked<DynamicLibrary> open_library(const std::string& name, Sink& sink);

/// The table of functions that a query calls. The answer is Failed if the library lacks one of
/// these functions.
template <class Table, class Source>
Asked<Table> query_functions(const Source& source) {
    auto table = load<Table>(source);
    if (!table)
        return Answer{.outcome = Outcome::Failed, .note = table.error().text};
    return *std::move(table);
}

/// The table of functions that run kernels on a device. Refusals: `api-refused` if the library
/// lacks one of these functions.
template <class Table, class Source>
Attempt<Table> compute_functions(const Source& source) {
    auto table = load<Table>(source);
    if (!table)
        return Refusal{.code = "api-refused", .note = table.error().text};
    return *std::move(table);
}

/// The runtime facts with the member "loader", which is the path of the library's file, or the
/// library's name if the path is unknown.
Value runtime_of(const DynamicLibrary& library);

/// The reason why a loader found no device for a manifest, if the manifest's library is the cause.
/// The answer is Absent with `driver-missing` if the file does not exist, and Failed with the
/// dynamic linker's message if the file does not load. For such a manifest, loaders return the same
/// error as for a driver that has no device. nullopt if the library loads or the target names no
/// library. If the library loads, it stays loaded, as if the loader had loaded it.
std::optional<Answer> without_library(const ProbeTarget& target);

// The following functions are about device nodes to which a device control group denies access.
// Containers, and DeviceAllow= in a systemd unit, set up such control groups. For such a node, the
// file mode permits access and access(2) succeeds; only open(2) fails.

/// NVIDIA's control node. Opening the control node does not initialize a GPU. Source:
/// open-gpu-kernel-modules, kernel-open/nvidia/nv.c.
constexpr const char* kNvidiaControl = "/dev/nvidiactl";

/// Whether opening `path` for reading and writing failed with `error` because of a device control
/// group. A control group causes EPERM; a restrictive file mode causes EACCES. Source: Linux,
/// security/device_cgroup.c.
bool is_denied(const std::string& path, int error);

/// Opens a node for reading and writing. Returns a descriptor, or -1 with errno set.
int open_for_use(const char* path);

/// Adds the reason `device-denied` if a device control group denies `node`. The function opens the
/// node, so call it only if opening the node wakes no device, or if a driver has just tried to open
/// the node.
void add_denial(const std::string& node,
                std::vector<Reason>& reasons,
                int (*open_node)(const char* path) = open_for_use);

}  // namespace gpuprobe::backends
