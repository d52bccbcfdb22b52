// SPDX-License-Identifier: Apache-2.0
#include "knowledge/amd_names.h"

#include <algorithm>
#include <utility>

#include "base/record.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {

RECORD_MEMBERS(AmdName, device, revision, name)

namespace {

constexpr std::string_view kAmdNamesSchema = "gpuprobe.amd-names/1";

struct AmdNamesDocument {
    std::string schema = {};
    std::vector<AmdName> names = {};
};
RECORD_MEMBERS(AmdNamesDocument, schema, names)

std::pair<std::string_view, std::string_view> key_of(const AmdName& row) {
    return {row.device, row.revision};
}

}  // namespace

const AmdNames& AmdNames::current() {
    return table_in_use<AmdNames>("amd_names");
}

Result<AmdNames> AmdNames::from(std::string_view json) {
    auto document = TRY(document_from<AmdNamesDocument>(json, kAmdNamesSchema));
    AmdNames names;
    names.rows_ = std::move(document.names);
    std::ranges::sort(names.rows_, {}, key_of);
    const auto twin = std::ranges::adjacent_find(names.rows_, {}, key_of);
    if (twin != names.rows_.end())
        return Error{ErrorCode::Malformed,
                     "names: " + twin->device + " " + twin->revision + ": appears more than once"};
    return names;
}

std::optional<std::string> AmdNames::find(std::string_view device,
                                          std::string_view revision) const {
    const std::pair key{device, revision};
    const auto row = std::ranges::lower_bound(rows_, key, {}, key_of);
    return row != rows_.end() && key_of(*row) == key ? std::optional{row->name} : std::nullopt;
}

}  // namespace gpuprobe::knowledge
