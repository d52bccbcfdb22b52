// SPDX-License-Identifier: Apache-2.0
#include "knowledge/drivers.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fnmatch.h>

#include "base/text.h"
#include "base/version.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kDriversSchema = "gpuprobe.drivers/1";

struct DriversDocument {
    std::string schema = {};
    std::vector<DriverFiles> drivers = {};
    std::vector<DriverSupport> support = {};
};

/// Whether the row applies to the driver. If a row's name ends with "*", the name is a prefix.
bool is_about(const DriverFiles& row, std::string_view driver) {
    const std::string_view name = row.driver;
    return name.ends_with('*') ? driver.starts_with(name.substr(0, name.size() - 1))
                               : driver == name;
}

}  // namespace

RECORD_MEMBERS(DriverFiles,
               driver,
               ("class", device_class),
               address,
               nodes,
               name,
               firmware,
               memory,
               memory_unit,
               state,
               ready,
               power_limit,
               power_unit,
               temperature,
               thermal_zone,
               part_of)

RECORD_MEMBERS(DriverSupport, driver, chips, since, first, last, cuda, flavour)

namespace {

RECORD_MEMBERS(DriversDocument, schema, drivers, support)

}  // namespace

const Drivers& Drivers::current() {
    return table_in_use<Drivers>("drivers");
}

Result<Drivers> Drivers::from(std::string_view json) {
    auto document = TRY(document_from<DriversDocument>(json, kDriversSchema));
    // A unit of 0 would turn every reading into 0.
    for (const auto& row : document.drivers)
        if (row.memory_unit == 0U || row.power_unit == 0U)
            return Error{ErrorCode::Malformed,
                         "drivers: " + row.driver +
                             (row.memory_unit == 0U ? ": memory_unit: 0" : ": power_unit: 0")};
    Drivers drivers;
    drivers.rows_ = std::move(document.drivers);
    drivers.support_ = std::move(document.support);
    return drivers;
}

const DriverFiles* Drivers::find(std::string_view driver) const {
    // The first matching row is used, so rows with a full name must precede rows with a prefix.
    const auto row = std::ranges::find_if(
        rows_, [driver](const DriverFiles& files) { return is_about(files, driver); });
    return row == rows_.end() ? nullptr : &*row;
}

const DriverSupport* Drivers::support(std::string_view driver,
                                      const std::string& chip,
                                      std::string_view compute_capability) const {
    const auto capability = leading_version(compute_capability);
    const DriverSupport* by_chip = nullptr;
    const DriverSupport* by_capability = nullptr;
    for (const auto& row : support_) {
        if (row.driver != driver)
            continue;
        const auto patterns = words(row.chips);
        const bool has_chip = std::ranges::any_of(patterns, [&chip](std::string_view pattern) {
            return fnmatch(std::string{pattern}.c_str(), chip.c_str(), 0) == 0;
        });
        if (has_chip && !by_chip)
            by_chip = &row;
        // The rows are in ascending order, so the last row that fits is the closest row.
        if (capability && row.since && leading_version(*row.since) <= capability)
            by_capability = &row;
    }
    // Prefer the compute capability, which was reported by a driver or belongs to the chip.
    return by_capability ? by_capability : by_chip;
}

namespace {

constexpr std::string_view kSetupSchema = "gpuprobe.setup/1";

struct SetupDocument : SetupWords {
    std::string schema = {};
};

RECORD_MEMBERS(SetupDocument, schema, modules, command_line, parameters, nvidia_parameters)

/// Checks that parameters have the form MODULE.PARAMETER and cannot lead out of /sys/module.
Status check(const SetupDocument& document) {
    for (const auto& parameter : document.parameters)
        if (const auto dot = parameter.find('.');
            dot == 0 || dot >= parameter.size() - 1 || parameter.find('/') != std::string::npos)
            return Error{ErrorCode::Malformed,
                         "parameters: " + parameter + ": expected MODULE.PARAMETER"};
    return Done{};
}

}  // namespace

const SetupWords& SetupWords::current() {
    return table_in_use<SetupWords>("setup");
}

Result<SetupWords> SetupWords::from(std::string_view json) {
    auto document = TRY(document_from<SetupDocument>(json, kSetupSchema));
    TRY(check(document));
    // The list must be sorted, because has_module() uses binary search.
    std::ranges::sort(document.modules);
    return SetupWords{std::move(document)};
}

bool SetupWords::has_module(std::string_view name) const {
    return std::ranges::binary_search(modules, name, std::less<std::string_view>{});
}

namespace {

constexpr std::string_view kContexts = "contexts";
constexpr std::string_view kContextsSchema = "gpuprobe.contexts/1";
/// Larger values are implausible, because no driver's context is this large.
constexpr std::uint64_t kMaxContextMib = 8192;

struct ContextsDocument {
    std::string schema = {};
    std::vector<ContextSize> backends = {};
};
RECORD_MEMBERS(ContextsDocument, schema, backends)

/// Checks a row. The row must contain the origin of its numbers, because the numbers themselves
/// cannot be verified.
Status check(const ContextSize& row) {
    const auto problem = row.backend.empty()                ? "backend: missing"
                         : row.context_mib > kMaxContextMib ? "context_mib: too large"
                         : row.program_mib > kMaxContextMib ? "program_mib: too large"
                         : row.source.how.empty()           ? "source: how: missing"
                                                            : nullptr;
    if (problem)
        return Error{ErrorCode::Malformed, row.backend + ": " + problem};
    return Done{};
}

}  // namespace

const Contexts& Contexts::current() {
    return made_of_documents([](const Library& library) {
        auto contexts = table_of<Contexts>(library, kContexts);
        // A newer data file may list fewer backends than this program knows.
        contexts.add_missing(table_of<Contexts>(*Library::compiled_in(), kContexts));
        return contexts;
    });
}

Result<Contexts> Contexts::from(std::string_view json) {
    auto document = TRY(document_from<ContextsDocument>(json, kContextsSchema));
    Contexts contexts;
    for (auto& row : document.backends) {
        TRY(check(row));
        if (contexts.find(row.backend))
            return Error{ErrorCode::Malformed, row.backend + ": named twice"};
        contexts.rows_.push_back(std::move(row));
    }
    return contexts;
}

const ContextSize* Contexts::find(std::string_view backend) const {
    const auto found = std::ranges::find(rows_, backend, &ContextSize::backend);
    return found == rows_.end() ? nullptr : &*found;
}

void Contexts::add_missing(const Contexts& others) {
    for (const auto& row : others.rows_)
        if (!find(row.backend))
            rows_.push_back(row);
}

}  // namespace gpuprobe::knowledge
