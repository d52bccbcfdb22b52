// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/value.h"
#include "engine/identifiers.h"

namespace gpuprobe::engine {

/// What a text is, which decides what in it is taken for an identifier.
enum class TextKind {
    Kernel,   ///< files of sysfs and procfs, paths: full of numbers that identify nothing
    Version,  ///< a fact that is a version: numbers with dots
    Fact,     ///< another fact, or a word of ours
    Prose,    ///< what a driver printed, notes
};

/// Replaces identifiers of cards, machines, networks and people by numbered stand-ins. Equal
/// identifiers get equal stand-ins, different ones different stand-ins, in all texts of one
/// Redaction. docs/capture.md lists what is replaced.
class Redaction {
public:
    /// `keeps_driver_output`: keeps what drivers printed, with stand-ins. Otherwise
    /// masked_document() leaves it out.
    explicit Redaction(Identifiers known = {}, bool keeps_driver_output = false)
        : known_{std::move(known)}, keeps_driver_output_{keeps_driver_output} {}

    /// UUIDs and 16-digit numbers ("unique_id") keep their form; so does the same number where KFD
    /// writes it in decimal.
    [[nodiscard]] std::string masked(std::string_view text, TextKind kind = TextKind::Kernel);
    /// Every text of a document, by its member's name: a fact that identifies a device by its row
    /// of report/fact_table.h is replaced whatever it looks like. Numbers stay: none of them
    /// identifies a card.
    [[nodiscard]] Value masked_document(Value document);
    /// A probe in its capture form: as any document, without facts of devices that no row declares.
    [[nodiscard]] Value masked_probe(Value probe);
    /// nodes.json: accounts and groups of people get numbers from 1000 on, and no names.
    [[nodiscard]] Value masked_nodes(Value nodes);

private:
    /// The same number for the same identifier, counted from 1.
    [[nodiscard]] unsigned number_of(std::string_view identifier);
    [[nodiscard]] Value masked_member(std::string_view key, Value value);
    [[nodiscard]] Value masked_items(std::string_view key, Value items);
    [[nodiscard]] std::string masked_text(std::string_view key, std::string_view text);
    [[nodiscard]] std::string masked_identity(std::string_view text);
    void mask_account(Value& id);

    Identifiers known_ = {};
    bool keeps_driver_output_ = false;
    std::map<std::string, unsigned> numbers_ = {};
    std::map<std::int64_t, std::int64_t> accounts_ = {};
};

}  // namespace gpuprobe::engine
