// SPDX-License-Identifier: Apache-2.0
#include "engine/redaction.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <unistd.h>

#include "base/accounts.h"
#include "base/text.h"
#include "report/fact_table.h"

namespace gpuprobe::engine {
namespace {

constexpr uid_t kNobody = 65534;
constexpr Bytes kMaxFile = kib(64);
constexpr std::size_t kShortestNumber = 4;
constexpr std::size_t kShortest = 2;  ///< a single letter occurs in every string

/// Files that contain identifiers. For each entry of `folder`, such as /sys/class/net/eth0, all
/// `files` in that entry are read.
struct NumberFiles {
    const char* folder;
    std::array<const char*, 4> files;
};
constexpr std::array kNumberFiles = {
    NumberFiles{"/sys/class/net", {"address", "phys_port_id", "phys_switch_id", nullptr}},
    NumberFiles{"/sys/class/nvme", {"serial", "subsysnqn", nullptr, nullptr}},
    NumberFiles{"/sys/class/block", {"wwid", "device/serial", "device/wwid", "uuid"}},
    NumberFiles{"/sys/class/infiniband", {"node_guid", "sys_image_guid", nullptr, nullptr}},
    NumberFiles{"/sys/class/bluetooth", {"address", nullptr, nullptr, nullptr}},
    NumberFiles{"/sys/bus/usb/devices", {"serial", nullptr, nullptr, nullptr}},
};
constexpr std::array kNumbers = {
    "/etc/machine-id",
    "/var/lib/dbus/machine-id",
    "/proc/sys/kernel/random/boot_id",
    "/sys/class/dmi/id/product_serial",
    "/sys/class/dmi/id/product_uuid",
    "/sys/class/dmi/id/board_serial",
    "/sys/class/dmi/id/chassis_serial",
    "/sys/class/dmi/id/board_asset_tag",
    "/sys/class/dmi/id/chassis_asset_tag",
    "/proc/device-tree/serial-number",
};
/// The files in these folders are named after wireless networks.
constexpr std::array kNetworkFolders = {"/etc/NetworkManager/system-connections", "/var/lib/iwd"};

/// Whether the text is a placeholder that vendors use instead of a serial number, or a word that
/// occurs in many reports. Replacing a word that occurs in many reports would make reports
/// unreadable.
bool is_no_name(const std::string& text) {
    static constexpr std::array<std::string_view, 8> kNone = {
        "localhost", "localdomain", "default string", "not specified",
        "none",      "n/a",         "unknown",        "to be filled by o.e.m."};
    return text.size() < kShortest || text.find_first_not_of("0:-. ") == std::string::npos ||
           std::ranges::find(kNone, lower_case(text)) != kNone.end();
}

/// Adds a name if it isn't in the list yet. Values from the device tree end in a zero byte, which
/// is removed.
void add(std::string_view text, std::vector<std::string>& names) {
    std::string name{trimmed(text.substr(0, text.find('\0')))};
    if (!is_no_name(name) && std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
}

/// Adds the accounts of people, and the users on whose behalf this program runs. The name root is
/// not personal.
void add_users(Identifiers& all) {
    for (const auto& account : accounts())
        if (account.uid >= kFirstPerson && account.uid != kNobody) {
            add(account.name, all.users);
            add(account.home, all.homes);
        }
    for (const auto* variable : {"USER", "LOGNAME", "SUDO_USER"})
        if (const char* name = std::getenv(variable))
            add(name, all.users);
    if (const auto name = user_name(::getuid()))
        add(*name, all.users);
    std::erase_if(all.users, [](const std::string& name) { return name == "root"; });
}

/// Adds the names that /etc/hosts lists in the same line as one of the host's known names.
void add_aliases(std::string_view hosts, std::vector<std::string>& names) {
    for (const auto line : split(hosts, '\n')) {
        const auto columns = words(line.substr(0, line.find('#')));
        const bool is_ours = std::ranges::any_of(columns, [&names](std::string_view column) {
            return std::ranges::find(names, column) != names.end();
        });
        for (std::size_t i = 1; is_ours && i < columns.size(); ++i)
            add(columns[i], names);
    }
}

/// Adds the host's names with and without domain, their aliases, and the domains that the resolver
/// searches. A search domain without a dot is too general and is left out.
void add_hosts(const FileSystem& files, std::vector<std::string>& names) {
    for (const auto* path :
         {"/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname"})
        if (const auto line = files.line(path); line && *line != "(none)")
            add(*line, names);
    std::erase_if(names, [](const std::string& name) { return is_no_name(name); });
    // add() may grow the list, so use an index, and visit only the names that were found before
    // this loop.
    for (std::size_t i = 0, count = names.size(); i < count; ++i)
        if (const auto dot = names[i].find('.'); dot != std::string::npos)
            add(std::string{names[i]}.substr(0, dot), names);
    if (const auto hosts = files.read("/etc/hosts", kMaxFile))
        add_aliases(*hosts, names);
    const auto resolver = files.read("/etc/resolv.conf", kMaxFile);
    // resolv.conf(5): the domains follow the keyword "search" or "domain".
    for (const auto line : split(resolver ? std::string_view{*resolver} : std::string_view{}, '\n'))
        if (const auto columns = words(line);
            columns.size() > 1 && (columns[0] == "search" || columns[0] == "domain"))
            for (std::size_t i = 1; i < columns.size(); ++i)
                if (columns[i].find('.') != std::string_view::npos)
                    add(columns[i], names);
}

/// Adds serial numbers, addresses, and the names of wireless networks (files that are named after
/// networks, without their extension).
void add_numbers(const FileSystem& files, std::vector<std::string>& numbers) {
    for (const auto* path : kNumbers)
        add(files.line(path).value_or(""), numbers);
    for (const auto& row : kNumberFiles)
        for (const auto& entry : files.list(row.folder).value_or({}))
            for (const auto* file : row.files)
                if (file)
                    add(files.line(std::string{row.folder} + "/" + entry + "/" + file).value_or(""),
                        numbers);
    for (const auto* folder : kNetworkFolders)
        for (const auto& name : files.list(folder).value_or({}))
            add(name.substr(0, name.rfind('.')), numbers);
    std::erase_if(numbers,
                  [](const std::string& number) { return number.size() < kShortestNumber; });
}

/// Sorts longer names first, so that a name is tried before shorter names that it begins with.
void sort_by_length(std::vector<std::string>& names) {
    std::ranges::sort(names, std::ranges::greater{}, &std::string::size);
}

}  // namespace

Identifiers identifiers_of(const FileSystem& files) {
    Identifiers all;
    add_users(all);
    add_hosts(files, all.hosts);
    add_numbers(files, all.numbers);
    for (auto* names : {&all.users, &all.homes, &all.hosts, &all.numbers})
        sort_by_length(*names);
    return all;
}

namespace {

/// The placeholder of an identifier.
std::string stand_in(const FoundIdentifier& found, unsigned number) {
    const auto unique_id = "a" + zero_padded(number, 15);
    const auto name = std::string{found.word} + "-" + std::to_string(number);
    switch (found.form) {
        case StandIn::Uuid:
            return "00000000-0000-4000-8000-" + zero_padded(number, 12);
        case StandIn::PlainUuid:
            return "00000000000040008000" + zero_padded(number, 12);
        case StandIn::UniqueId:
            return unique_id;
        case StandIn::DecimalUniqueId:
            return std::to_string(parse_hex<std::uint64_t>(unique_id).value_or(0));
        case StandIn::Home:
            return "/home/" + name;
        case StandIn::Name:
            return name;
        case StandIn::Word:
            return "[" + name + "]";
    }
    return {};
}

/// Whether a member contains free text, which a driver or this program has written.
bool is_prose(std::string_view key) {
    static constexpr std::array<std::string_view, 6> kProse = {"note",   "error",   "lines",
                                                               "output", "problem", "phase"};
    return std::ranges::find(kProse, key) != kProse.end();
}

/// The kind of text in a member, according to the member's name and the table of facts.
TextKind kind_of(std::string_view key) {
    if (is_prose(key))
        return TextKind::Prose;
    if (key == "kernel" || key.ends_with("version") || key.ends_with("versions"))
        return TextKind::Version;
    const auto* row = device_fact(key);
    if (!row)
        row = runtime_fact(key);
    return row && row->type == FactType::Version ? TextKind::Version : TextKind::Fact;
}

bool is_identity(std::string_view key) {
    return device_fact(key) && may_identify(key);
}

/// Whether the value is a reason that contains output of a driver.
bool is_driver_output(const Value& value) {
    return value.is_object() && value.at("code") == Value{"worker-output"};
}

/// Whether a member contains output of a driver in another form: a copy in a finding, or the end of
/// a compiler's log.
bool is_driver_output(std::string_view parent, std::string_view key) {
    return key == "output" || (key == "note" && (parent == "check" || parent == "measured"));
}

/// Whether the text can only be the name of an error: words without digits or path characters, and
/// separate numbers, possibly in parentheses.
bool is_error_name(std::string_view text) {
    constexpr std::size_t kLongest = 80;
    for (const auto word : words(text)) {
        const auto bare = word.substr(word.find_first_not_of('(') == std::string_view::npos
                                          ? 0
                                          : word.find_first_not_of('('));
        const bool is_number = bare.find_first_not_of("-0123456789)") == std::string_view::npos;
        const bool is_name = bare.find_first_of("0123456789@/\\.=:") == std::string_view::npos;
        if (!is_number && !is_name)
            return false;
    }
    return text.size() <= kLongest;
}

/// Shortens a message such as "cuInit: …" to "cuInit" unless the text after the colon is the name
/// of an error, because the driver may have written anything. Messages of the dynamic linker
/// ("dlopen: …") are kept.
std::string_view without_words_of_driver(std::string_view text) {
    const auto colon = text.find(": ");
    const auto call = text.substr(0, colon);
    if (colon == std::string_view::npos || call.empty() || call == "dlopen" ||
        call.find_first_of(" /.") != std::string_view::npos ||
        is_error_name(text.substr(colon + 2)))
        return text;
    return call;
}

}  // namespace

unsigned Redaction::number_of(std::string_view identifier) {
    const auto next = static_cast<unsigned>(numbers_.size()) + 1;
    return numbers_.try_emplace(std::string{identifier}, next).first->second;
}

/// Copies the text character by character, but replaces identifiers.
std::string Redaction::masked(std::string_view text, TextKind kind) {
    std::string clean;
    for (std::size_t at = 0; at < text.size();) {
        const auto found = identifier_at(text, at, kind, known_);
        if (!found) {
            clean += text[at++];
            continue;
        }
        clean += text.substr(at, found->kept);
        clean += stand_in(*found, number_of(found->identifier));
        at += found->length;
    }
    return clean;
}

/// Masks a fact that identifies a device, even if no pattern matches it. Strings without digits,
/// such as "XX", are kept, because they do not identify anything.
std::string Redaction::masked_identity(std::string_view text) {
    auto clean = masked(text, TextKind::Fact);
    const bool has_digit = text.find_first_of("123456789") != std::string_view::npos;
    if (clean != text || !has_digit)
        return clean;
    return "[id-" + std::to_string(number_of(lower_case(text))) + "]";
}

/// Masks one string of a document, according to the name of its member.
std::string Redaction::masked_text(std::string_view key, std::string_view text) {
    if (is_identity(key))
        return masked_identity(text);
    const bool may_be_cut = is_prose(key) && !keeps_driver_output_;
    return masked(may_be_cut ? without_words_of_driver(text) : text, kind_of(key));
}

/// The items of an array have the same kind of text as the array. Reasons with driver output are
/// removed.
Value Redaction::masked_items(std::string_view key, Value items) {
    Value kept{Value::Array{}};
    for (auto& item : *items.as_array())
        if (keeps_driver_output_ || !is_driver_output(item))
            kept.push_back(masked_member(key, std::move(item)));
    return kept;
}

// NOLINTNEXTLINE(misc-no-recursion): the recursion is as deep as the document
Value Redaction::masked_member(std::string_view key, Value value) {
    if (const auto* text = value.as_string())
        return masked_text(key, *text);
    if (value.as_array())
        return masked_items(key, std::move(value));
    if (key == "os_release")  // the name of a distribution may also be the name of a user
        return value;
    if (auto* members = value.as_object())
        for (auto& member : *members) {
            if (!keeps_driver_output_ && is_driver_output(key, member.key))
                member.value = Value{};
            else
                member.value = masked_member(member.key, std::move(member.value));
        }
    return value;
}

Value Redaction::masked_document(Value document) {
    return masked_member("", std::move(document));
}

Value Redaction::masked_probe(Value probe) {
    if (auto* devices = probe.find("devices"); devices && devices->as_array())
        for (auto& device : *devices->as_array())
            if (auto* facts = device.as_object())
                for (auto& fact : *facts)
                    if (!device_fact(fact.key))
                        fact.value = Value{};
    const bool computed = probe.at("stage") != Value{"query"};
    if (computed && !keeps_driver_output_)  // the note may be a compiler's log
        probe["note"] = Value{};
    return masked_document(std::move(probe));
}

/// Replaces the id of a user or group with a number of at least 1000. System accounts keep their
/// ids.
void Redaction::mask_account(Value& id) {
    const auto number = id.as_int();
    if (!number || *number < kFirstPerson)
        return;
    const auto next = kFirstPerson + static_cast<std::int64_t>(accounts_.size());
    id = Value{accounts_.try_emplace(*number, next).first->second};
}

Value Redaction::masked_nodes(Value nodes) {
    auto* all = nodes.as_object();
    if (!all)
        return nodes;
    for (auto& [path, node] : *all) {
        // Replace the name of a user's group with the new number of the group. Names of system
        // groups are kept.
        const auto gid = node.at("gid").as_int();
        mask_account(node["uid"]);
        mask_account(node["gid"]);
        if (gid && *gid >= kFirstPerson)
            node["group"] = Value{std::to_string(*node.at("gid").as_int())};
        if (auto* acl = node.find("acl"); acl && acl->as_array())
            for (auto& entry : *acl->as_array())
                mask_account(entry["id"]);
    }
    return nodes;
}

}  // namespace gpuprobe::engine
