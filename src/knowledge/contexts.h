// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/record.h"
#include "base/result.h"

/// What a process takes of a GPU's memory before its first buffer: data/knowledge/contexts.json.
namespace gpuprobe::knowledge {

/// Where the sizes of one backend are from.
struct ContextSource {
    std::optional<std::string> machine = {};  ///< null: nobody measured it
    std::optional<std::string> driver = {};
    std::string how = {};
    bool operator==(const ContextSource&) const = default;
};
RECORD_MEMBERS(ContextSource, machine, driver, how)

/// In MiB.
struct ContextSize {
    std::string backend = {};
    std::uint64_t context_mib = 0;  ///< the driver's, as `measure` measures it
    std::uint64_t program_mib = 0;  ///< kernels and workspaces that llama.cpp adds
    ContextSource source = {};
    bool operator==(const ContextSize&) const = default;

    [[nodiscard]] Bytes context() const { return mib(context_mib); }
    [[nodiscard]] Bytes program() const { return mib(program_mib); }
};
RECORD_MEMBERS(ContextSize, backend, context_mib, program_mib, source)

class Contexts {
public:
    /// What is in use, until another library is: of a backend that the document in use leaves out,
    /// the row that is compiled in.
    static const Contexts& current();
    /// Errors: Malformed, TooLarge, with the row and member at fault. Which backends there are is
    /// for the caller to know.
    static Result<Contexts> from(std::string_view json);
    /// By the backend's word; null where nothing is known, and nothing counted.
    [[nodiscard]] const ContextSize* find(std::string_view backend) const;
    [[nodiscard]] const std::vector<ContextSize>& rows() const { return rows_; }

private:
    void add_missing(const Contexts& others);

    std::vector<ContextSize> rows_ = {};
};

}  // namespace gpuprobe::knowledge
