// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "backends/dynamic_library.h"

/// What all C APIs share: tables of functions that are looked up at run time, calls that may be
/// refused, and owners of handles.
namespace gpuprobe::backends {

/// The functions of one API that are called. A table derives from this and declares each of them as
/// a Symbol or an OptionalSymbol, with the name to look up; load() makes it.
class SymbolTable {
public:
    using Lookup = std::function<AnyFunction(const char* name)>;
    explicit SymbolTable(Lookup lookup) : lookup_{std::move(lookup)} {}

    [[nodiscard]] AnyFunction find(const char* name) const { return lookup_(name); }
    /// The same for one that the table is of no use without.
    AnyFunction require(const char* name) {
        const auto function = find(name);
        if (!function && !missing_)
            missing_ = name;
        return function;
    }
    /// The first function that is required and not there; null when all are.
    [[nodiscard]] const char* missing() const { return missing_; }

private:
    Lookup lookup_;
    const char* missing_ = nullptr;
};

/// A function of a library, and the name that it was found by. Called like the pointer that it is.
template <class Function>
struct Symbol {
    const char* name = nullptr;
    Function* address = nullptr;

    Symbol() = default;
    Symbol(SymbolTable& table, const char* symbol_name)
        : name{symbol_name}, address{reinterpret_cast<Function*>(table.require(symbol_name))} {}
    operator Function*() const { return address; }
};

/// The first of the named functions that there is; null when there is none.
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

/// A table of functions, whole or not at all. Errors: NotFound, naming the function.
template <std::derived_from<SymbolTable> Table>
Result<Table> load(SymbolTable::Lookup lookup) {
    Table table{std::move(lookup)};
    if (const char* const name = table.missing())
        return Error{ErrorCode::NotFound, std::string{name} + ": no such function"};
    return table;
}
/// The same of a library, which the error names too.
template <std::derived_from<SymbolTable> Table>
Result<Table> load(const DynamicLibrary& library) {
    auto table = load<Table>([library](const char* name) { return library.find(name); });
    if (!table)
        return std::move(table).error().in(library.name());
    return table;
}

/// Calls a function whose success is 0. What `refuse` makes of its name and any other code is the
/// error.
template <class Refuse, class Code, class... Parameters>
auto call(const Refuse& refuse,
          const Symbol<Code(Parameters...)>& function,
          std::type_identity_t<Parameters>... arguments)
    -> Result<Done, decltype(refuse(function.name, Code{}))> {
    if (const auto code = function(arguments...); code != Code{})
        return refuse(function.name, code);
    return Done{};
}

/// Owner of a handle that a function found at run time lets go of. What that function returns is
/// dropped: there is nothing left to do about a refusal.
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
    Handle handle_ = {};  // an integer for some of Vulkan's on machines of 32 bits
    Release release_ = {};
};

}  // namespace gpuprobe::backends
