// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/value.h"

namespace gpuprobe::engine {

/// The names of a machine and its users, and serial numbers and addresses of its parts.
struct Identifiers {
    std::vector<std::string> users = {};    ///< names of users' accounts
    std::vector<std::string> homes = {};    ///< their home folders
    std::vector<std::string> hosts = {};    ///< names of this host and of its domains
    std::vector<std::string> numbers = {};  ///< machine-id, serial numbers, addresses, SSIDs …
};

/// The identifiers of this machine: accounts with a uid of at least 1000, the user who runs this
/// program or called sudo; and, from `files`, the host names, machine-id and boot-id, and the
/// serial numbers and addresses of firmware, disks and network cards. Files that can't be read are
/// left out.
Identifiers identifiers_of(const FileSystem& files);

/// The kind of a text. The kind determines which patterns of identifiers are replaced.
enum class TextKind {
    Kernel,   ///< files of sysfs and procfs, paths: full of numbers that identify nothing
    Version,  ///< a fact that is a version: numbers with dots
    Fact,     ///< any other fact, or a word of this program
    Prose,    ///< output of drivers, notes
};

/// Replaces identifiers of cards, machines, networks and users with numbered placeholders. Within
/// one Redaction object, equal identifiers get the same placeholder, and different identifiers get
/// different placeholders. docs/internals/capture.md lists all identifiers that are replaced.
class Redaction {
public:
    /// `keeps_driver_output`: keep the masked output of drivers. Otherwise masked_document()
    /// removes it.
    explicit Redaction(Identifiers known = {}, bool keeps_driver_output = false)
        : known_{std::move(known)}, keeps_driver_output_{keeps_driver_output} {}

    /// The text with identifiers replaced. UUIDs and numbers of 16 hexadecimal digits ("unique_id")
    /// keep their form, even if the number is in decimal as in KFD's files.
    [[nodiscard]] std::string masked(std::string_view text, TextKind kind = TextKind::Kernel);
    /// The document with every text masked. The member's name determines the kind of the text: a
    /// fact that report/fact_table.h marks as identifying a device is replaced in any form. Numbers
    /// are kept, because no number identifies a card.
    [[nodiscard]] Value masked_document(Value document);
    /// A probe result in the form of captures. Masked like any document, and facts of devices that
    /// are not in report/fact_table.h are removed.
    [[nodiscard]] Value masked_probe(Value probe);
    /// The content of nodes.json. Users and groups get new numbers, starting at 1000, and no names.
    [[nodiscard]] Value masked_nodes(Value nodes);

private:
    /// The number in the placeholder of this identifier, counted from 1.
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
