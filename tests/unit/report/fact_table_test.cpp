// SPDX-License-Identifier: Apache-2.0
#include "report/fact_table.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"
#include "report/fact_key.h"
#include "support/places.h"

namespace gpuprobe {
namespace fact_table_test {

constexpr FactInfo serial(FactSpecificity specificity) {
    return {
        .key = "chip_serial", .apis = "cuda", .specificity = specificity, .meaning = "of the chip"};
}

// These expressions do not compile here, so they would not compile as rows of the table either.
static_assert(is_fact_table(std::array{serial(FactSpecificity::Identity)}));
static_assert(!is_fact_table(std::array{serial(FactSpecificity::Unset)}),
              "a new fact has to state whether it identifies a device");
static_assert(!is_fact_table(std::array{serial(FactSpecificity::Identity),
                                        serial(FactSpecificity::Identity)}),
              "one key twice for one API");
static_assert(!is_fact_table(std::array{
                  serial(FactSpecificity::Identity),
                  FactInfo{.key = "chip_serial",
                           .apis = "hip",
                           .specificity = FactSpecificity::Own,
                           .meaning = "harmless by HIP, and hidden from nobody"},
              }),
              "a fact that identifies does so by whatever API reports it");
static_assert(!is_fact_table(std::array{FactInfo{.key = "name",
                                                 .of = FactOf::EveryDevice,
                                                 .specificity = FactSpecificity::Model,
                                                 .meaning = "a name"},
                                        FactInfo{.key = "name",
                                                 .apis = "cuda",
                                                 .specificity = FactSpecificity::Model,
                                                 .meaning = "another name"}}),
              "an API's own fact with the key of one that all have");
static_assert(!std::is_constructible_v<FactKey<std::string>, std::string>,
              "a key is known when the program is built");

TEST(FactTable, FindsEachKeyInItsPlaceOnly) {
    EXPECT_EQ(device_fact("gfx_target")->of, FactOf::Device);
    EXPECT_EQ(device_fact("uuid")->of, FactOf::EveryDevice);
    EXPECT_EQ(device_fact("alternatives")->of, FactOf::View);
    EXPECT_EQ(device_fact("rocm_version"), nullptr);
    EXPECT_EQ(device_fact("vram_vendor"), nullptr);
    EXPECT_EQ(device_fact(""), nullptr);
    EXPECT_EQ(runtime_fact("version")->of, FactOf::Runtime);
    EXPECT_EQ(runtime_fact("uuid"), nullptr);
}

TEST(FactTable, ReadsAFactInTheFormOfItsType) {
    DeviceFacts device;
    device.extra = parse_json(R"({"gfx_target": "gfx90a", "mig_mode": true, "kfd_node": 2,
        "memory_reserved": 7, "queues": [1], "check": {"words": 3}, "luid": "", "error": 5})",
                              kib(1))
                       .value();
    EXPECT_EQ(fact(device, facts::kGfxTarget), "gfx90a");
    EXPECT_EQ(fact(device, facts::kMigMode), true);
    EXPECT_EQ(fact(device, facts::kKfdNode), 2U);
    EXPECT_EQ(fact(device, facts::kMemoryReserved), Bytes{7});
    EXPECT_EQ(fact(device, facts::kQueues)->size(), 1U);
    EXPECT_EQ(fact(device, facts::kCheck).at("words"), Value{3});
    EXPECT_EQ(fact(device, facts::kLuid), std::nullopt) << "an empty text counts as unknown";
    EXPECT_EQ(fact(device, facts::kError), std::nullopt) << "a number is not a text";
    EXPECT_EQ(fact(device, facts::kComputeMode), std::nullopt) << "missing";
    EXPECT_EQ(fact(device, facts::kMigDevices), nullptr);
    EXPECT_TRUE(fact(device, facts::kMeasured).is_null());
}

Value all_facts(std::string_view json) {
    return parse_json(json, kib(4)).value();
}

TEST(FactTable, HidesWhatIdentifiesAndWhatNobodyDeclared) {
    auto device = all_facts(R"({"name": "a", "uuid": "1", "chip_serial": "2", "luid": "3",
        "mig_devices": [{"uuid": "4"}],
        "alternatives": [{"driver": "d", "device": {"name": "b", "uuid": "5"}}, 7]})");
    hide_identity(device);
    EXPECT_EQ(device, all_facts(R"({"name": "a", "uuid": null, "chip_serial": null, "luid": null,
        "mig_devices": null,
        "alternatives": [{"driver": "d", "device": {"name": "b", "uuid": null}}, 7]})"));
}

TEST(FactTable, ForgetsTheMomentAndNothingElse) {
    auto device = all_facts(R"({"memory": {"total": 1, "free": 2}, "gtt_used": 3, "free": 4,
        "heaps": [{"size": 5, "budget": 6, "usage": 7}],
        "mig_devices": [{"uuid": "u", "memory": {"total": 8, "free": 9}}],
        "alternatives": [{"device": {"gpu_utilization": 10, "ecc": 11}}]})");
    forget_the_moment(device);
    EXPECT_EQ(device, all_facts(R"({"memory": {"total": 1, "free": null}, "gtt_used": null,
        "free": 4, "heaps": [{"size": 5, "budget": null, "usage": null}],
        "mig_devices": [{"uuid": "u", "memory": {"total": 8, "free": null}}],
        "alternatives": [{"device": {"gpu_utilization": null, "ecc": 11}}]})"));
}

TEST(FactTable, LetsAWorkerSendDeclaredKeysOnly) {
    EXPECT_EQ(undeclared_device_fact(all_facts(R"({"uuid": 1, "clock_hz": 2})")), std::nullopt);
    EXPECT_EQ(undeclared_device_fact(all_facts(R"({"uuid": 1, "chip_serial": 2})")), "chip_serial");
    EXPECT_EQ(undeclared_device_fact(all_facts(R"({"alternatives": []})")), "alternatives")
        << "the report's own key";
    EXPECT_EQ(undeclared_runtime_fact(all_facts(R"({"version": 1})")), std::nullopt);
    EXPECT_EQ(undeclared_runtime_fact(all_facts(R"({"uuid": 1})")), "uuid");
}

std::string content(const std::filesystem::path& path) {
    std::ifstream file{path};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Whether that API reports a fact with this key.
bool reports(std::string_view api, std::string_view key, bool is_of_device) {
    return std::ranges::any_of(kFactTable, [&](const FactInfo& row) {
        const bool is_meant = is_of_device
                                  ? row.of == FactOf::EveryDevice || row.of == FactOf::Device
                                  : row.of == FactOf::Runtime;
        return is_meant && row.key == key && (row.apis.empty() || has_word(row.apis, api));
    });
}

/// Expects that each key of the object is declared as a fact that the API reports.
void expect_declared(std::string_view api,
                     const Value& object,
                     bool is_of_device,
                     const std::filesystem::path& where) {
    const auto* members = object.as_object();
    for (const auto& member : members ? *members : Value::Object{})
        EXPECT_TRUE(reports(api, member.key, is_of_device)) << where << ": " << member.key;
}

TEST(FactTable, HasEachKeyOfTheRecordedMachines) {
    int probes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{
             GPUPROBE_SOURCE_DIR "/tests/data/machines"}) {
        const auto& path = entry.path();
        if (path.parent_path().filename() != "probes" || path.extension() != ".json")
            continue;
        const auto name = path.filename().string();
        auto document = parse_json(content(path), mib(4));
        ASSERT_TRUE(document) << path;
        const Value::Array one{*document};
        for (const auto& probe : document->as_array() ? *document->as_array() : one) {
            ++probes;
            const auto* recorded = probe.at("api").as_string();
            const auto api = recorded ? *recorded : name.substr(0, name.find('.'));
            expect_declared(api, probe.at("runtime"), false, path);
            const auto* devices = probe.at("devices").as_array();
            for (const auto& device : devices ? *devices : Value::Array{})
                expect_declared(api, device, true, path);
        }
    }
    EXPECT_GT(probes, 100);
}

// ---- The tables of facts in docs/internals/facts.md are generated from the table.

constexpr const char* kPage = GPUPROBE_SOURCE_DIR "/docs/internals/facts.md";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

std::string quoted(std::string_view key) {
    return "`" + std::string{key} + "`";
}

/// The words of a list, joined with commas. Each word is between two `quote` marks.
std::string comma_separated(std::string_view list, std::string_view quote) {
    std::istringstream words{std::string{list}};
    std::string text;
    for (std::string word; words >> word;)
        text.append(text.empty() ? "" : ", ").append(quote).append(word).append(quote);
    return text;
}

std::string row_of(std::initializer_list<std::string> cells) {
    std::string line = "|";
    for (const auto& cell : cells)
        line += (cell.empty() ? " " : " " + cell + " ") + "|";
    return line + "\n";
}

std::string type_of(const FactInfo& row) {
    std::string text{row.type == FactType::Texts ? "list of texts" : name_of(row.type)};
    return row.unit.empty() ? text : text + ", " + std::string{row.unit};
}

std::string table_of(const std::vector<const FactInfo*>& rows, std::string_view last_column) {
    const auto cell = [&](const FactInfo& row) {
        return last_column == "reported by" ? comma_separated(row.apis, "")
                                            : std::string{row.source};
    };
    const bool is_wide =
        std::ranges::any_of(rows, [&](const FactInfo* row) { return !cell(*row).empty(); });
    auto text = is_wide ? row_of({"key", "type", "meaning", std::string{last_column}}) +
                              row_of({"---", "---", "---", "---"})
                        : row_of({"key", "type", "meaning"}) + row_of({"---", "---", "---"});
    for (const auto* row : rows) {
        const auto key = quoted(row->key);
        text += is_wide ? row_of({key, type_of(*row), std::string{row->meaning}, cell(*row)})
                        : row_of({key, type_of(*row), std::string{row->meaning}});
    }
    return text;
}

template <class Predicate>
std::vector<const FactInfo*> rows_where(Predicate is_meant) {
    std::vector<const FactInfo*> rows;
    for (const auto& row : kFactTable)
        if (is_meant(row))
            rows.push_back(&row);
    return rows;
}

std::string tables_of_all_devices() {
    return table_of(rows_where([](const FactInfo& row) {
                        return row.of == FactOf::EveryDevice || row.of == FactOf::View;
                    }),
                    "source");
}

/// The keys of the facts with that specificity. If only some members of a fact change from moment
/// to moment, these members follow the key.
std::string keys_with(FactSpecificity specificity) {
    std::vector<std::string> keys;
    for (const auto& row : kFactTable) {
        const bool is_partly =
            specificity == FactSpecificity::Moment && !row.momentary_members.empty();
        auto text = quoted(row.key);
        if (row.specificity != specificity && is_partly)
            text += " (" + comma_separated(row.momentary_members, "`") + ")";
        const bool is_meant =
            row.of != FactOf::Hardware && (row.specificity == specificity || is_partly);
        if (is_meant && std::ranges::find(keys, text) == keys.end())
            keys.push_back(text);
    }
    std::string list;
    for (const auto& key : keys)
        list += (list.empty() ? "" : ", ") + key;
    return list;
}

std::string table_by_specificity() {
    return row_of({"kind of fact", "keys"}) + row_of({"---", "---"}) +
           row_of({"identifies the individual device", keys_with(FactSpecificity::Identity)}) +
           row_of({"changes from moment to moment", keys_with(FactSpecificity::Moment)});
}

/// The table of facts in the section with that heading; "" if the section has no such table.
std::string table_under(const std::string& heading) {
    if (heading == "The same in every API")
        return tables_of_all_devices();
    if (heading == "Identifying and momentary facts")
        return table_by_specificity();
    if (heading == "The GPU as a whole")
        return table_of(rows_where([](const FactInfo& row) { return row.of == FactOf::WholeGpu; }),
                        "source");
    if (heading == "runtime")
        return table_of(rows_where([](const FactInfo& row) { return row.of == FactOf::Runtime; }),
                        "reported by");
    if (heading == "inventory")
        return table_of(rows_where([](const FactInfo& row) { return row.of == FactOf::Hardware; }),
                        "source");
    if (heading == "verify and measure")
        return table_of(rows_where([](const FactInfo& row) { return has_word(row.apis, "cpu"); }),
                        "source");
    return table_of(rows_where([&](const FactInfo& row) {
                        return row.of == FactOf::Device && has_word(row.apis, heading) &&
                               !has_word(row.apis, "cpu");
                    }),
                    heading == "drm" ? "driver" : "source");
}

bool starts_a_table(std::string_view line) {
    return line.starts_with("| key |") || line.starts_with("| kind of fact |");
}

/// The page with newly generated tables of facts.
std::string remade(const std::string& page) {
    std::string text;
    std::string heading;
    bool is_old_table = false;
    for (const auto& line : lines_of(page)) {
        if (line.starts_with("## "))
            heading = line.substr(3);
        if (starts_a_table(line))
            text += table_under(heading);
        is_old_table = line.starts_with("|") && (is_old_table || starts_a_table(line));
        if (!is_old_table)
            text += line + "\n";
    }
    return text;
}

TEST(FactTable, IsWhatTheDocumentationShows) {
    const auto page = content(kPage);
    const auto wanted = remade(page);
    if (std::getenv("GPUPROBE_ACCEPT"))
        std::ofstream{kPage} << wanted;
    else
        EXPECT_EQ(page, wanted) << "GPUPROBE_ACCEPT=1 writes the page";
    for (const auto& row : kFactTable)
        EXPECT_NE(wanted.find("| " + quoted(row.key) + " | " + type_of(row) + " | " +
                              std::string{row.meaning}),
                  std::string::npos)
            << row.key << " is in no section";
}

}  // namespace fact_table_test
}  // namespace gpuprobe
