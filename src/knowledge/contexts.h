// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/units.h"

/// GPU memory that a process uses before it allocates its first buffer:
/// data/knowledge/contexts.json.
namespace gpuprobe::knowledge {

/// Origin of the sizes of a backend.
struct ContextSource {
    std::optional<std::string> machine = {};  ///< null: not measured
    std::optional<std::string> driver = {};
    std::string how = {};
    bool operator==(const ContextSource&) const = default;
};
RECORD_MEMBERS(ContextSource, machine, driver, how)

/// Memory per process and GPU for one backend, in MiB.
struct ContextSize {
    std::string backend = {};
    /// the driver's context, as the probe stage "measure" measures it
    std::uint64_t context_mib = 0;
    std::uint64_t program_mib = 0;  ///< kernels and workspaces that llama.cpp adds
    ContextSource source = {};
    bool operator==(const ContextSize&) const = default;

    [[nodiscard]] Bytes context() const { return mib(context_mib); }
    [[nodiscard]] Bytes program() const { return mib(program_mib); }
};
RECORD_MEMBERS(ContextSize, backend, context_mib, program_mib, source)

class Contexts {
public:
    /// The table of the knowledge base in use; valid until another one is put in use. Backends that
    /// its data file leaves out have their built-in rows.
    static const Contexts& current();
    /// Reads contexts.json. Does not check whether the backends exist; the caller does. Errors:
    /// Malformed, TooLarge, with the row and member at fault.
    static Result<Contexts> from(std::string_view json);
    /// The row of a backend, by its name. nullptr if nothing is known; then count nothing.
    [[nodiscard]] const ContextSize* find(std::string_view backend) const;
    [[nodiscard]] const std::vector<ContextSize>& rows() const { return rows_; }

private:
    void add_missing(const Contexts& others);

    std::vector<ContextSize> rows_ = {};
};

}  // namespace gpuprobe::knowledge
