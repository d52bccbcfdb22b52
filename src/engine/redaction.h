// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/value.h"

namespace gpuprobe::engine {

/// The names of a machine and its users, and serial numbers and addresses of its parts.
struct Identifiers {
    std::vector<std::string> users = {};    ///< names of users' accounts
    std::vector<std::string> homes = {};    ///< home folders of the users
    std::vector<std::string> hosts = {};    ///< names of this host and of its domains
    std::vector<std::string> numbers = {};  ///< machine-id, serial numbers, addresses, SSIDs …
};

/// The identifiers of this machine: the accounts with a uid of at least 1000, the account of the
/// user who runs this program or called sudo, and, from `files`, the host names, machine-id and
/// boot-id, and the serial numbers and addresses of firmware, disks and network cards. Files that
/// cannot be read are left out.
Identifiers identifiers_of(const FileSystem& files);

/// The kind of a string, which determines which patterns of identifiers are replaced.
enum class TextKind {
    Kernel,   ///< paths and files of sysfs and procfs; most numbers in them identify nothing
    Version,  ///< a fact that is a version, which consists of numbers and dots
    Fact,     ///< any other fact, or a word of this program
    Prose,    ///< the output of drivers, and notes
};

/// Replaces identifiers of cards, machines, networks and users with numbered placeholders. Within
/// one Redaction object, equal identifiers get the same placeholder, and different identifiers get
/// different placeholders. docs/internals/capture.md lists all identifiers that are replaced.
class Redaction {
public:
    /// If `keeps_driver_output` is true, masked_document() masks the output of drivers; otherwise,
    /// it removes the output.
    explicit Redaction(Identifiers known = {}, bool keeps_driver_output = false)
        : known_{std::move(known)}, keeps_driver_output_{keeps_driver_output} {}

    /// Returns the text with all identifiers replaced. UUIDs and numbers of 16
    /// hexadecimal digits ("unique_id") keep their form, even if the number is in decimal as in
    /// KFD's files.
    [[nodiscard]] std::string masked(std::string_view text, TextKind kind = TextKind::Kernel);
    /// Masks every string in the document. The name of a member determines the kind of its string:
    /// if report/fact_table.h marks a fact as identifying a device, the string is replaced whatever
    /// its form. Numbers are kept, because no number identifies a card.
    [[nodiscard]] Value masked_document(Value document);
    /// Masks a probe result that has the format of captures, like any document. Removes facts
    /// about devices that aren't in report/fact_table.h.
    [[nodiscard]] Value masked_probe(Value probe);
    /// The content of nodes.json. Users and groups get new numbers, starting at 1000, and their
    /// names are removed.
    [[nodiscard]] Value masked_nodes(Value nodes);

private:
    /// The number in the placeholder for `identifier`. The first number is 1.
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

/// The form of the placeholder that replaces an identifier.
enum class StandIn {
    Uuid,             ///< a UUID, "00000000-0000-4000-8000-000000000001"
    PlainUuid,        ///< a UUID without dashes
    UniqueId,         ///< sixteen hexadecimal digits, "a000000000000001"
    DecimalUniqueId,  ///< a number like UniqueId, but in decimal
    Home,             ///< a home folder, "/home/user-1"
    Name,             ///< a name that can be part of a path, "user-1"
    Word,             ///< a word in brackets, "[serial-1]"
};

/// An identifier that was found in a string.
struct FoundIdentifier {
    std::size_t length = 0;  ///< length of the match, including a label
    std::size_t kept = 0;    ///< length of the label that begins the match; the label is kept
    StandIn form = StandIn::Word;
    std::string_view word = {};   ///< the word of a Home, Name or Word, such as "user"
    std::string identifier = {};  ///< the identifier in its normalized form
};

/// The identifier that begins at the position `at`; nullopt if no identifier begins there. Call
/// this function for each position of a string in order, but skip identifiers that were already
/// found.
std::optional<FoundIdentifier> identifier_at(std::string_view text,
                                             std::size_t at,
                                             TextKind kind,
                                             const Identifiers& known);

}  // namespace gpuprobe::engine
