// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "backends/dynamic_library.h"

/// Helpers for C APIs that are loaded at run time: tables of functions, calls that return an error
/// code, and owners of handles.
namespace gpuprobe::backends {

/// Base class for the functions that we call of one API. A table derives from it and declares each
/// function as a Symbol or an OptionalSymbol, with the name to look up; load() creates the table.
class SymbolTable {
public:
    using Lookup = std::function<AnyFunction(const char* name)>;
    explicit SymbolTable(Lookup lookup) : lookup_{std::move(lookup)} {}

    [[nodiscard]] AnyFunction find(const char* name) const { return lookup_(name); }
    /// Like find(), for a function that the table cannot do without.
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

/// A function of a library and the name under which it was found. It is called like a function
/// pointer.
template <class Function>
struct Symbol {
    const char* name = nullptr;
    Function* address = nullptr;

    Symbol() = default;
    Symbol(SymbolTable& table, const char* symbol_name)
        : name{symbol_name}, address{reinterpret_cast<Function*>(table.require(symbol_name))} {}
    operator Function*() const { return address; }
};

/// The first of the named functions that the library has; null if it has none of them.
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
/// Loads the table from a library. The error also names the library.
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

/// Owner of a handle that is released by a function found at run time. The result of that function
/// is ignored, because nothing can be done about a failed release.
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

}  // namespace gpuprobe::backends
