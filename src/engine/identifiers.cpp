// SPDX-License-Identifier: Apache-2.0
#include "engine/identifiers.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <unistd.h>

#include "base/accounts.h"
#include "base/text.h"

namespace gpuprobe::engine {
namespace {

constexpr uid_t kNobody = 65534;
constexpr Bytes kMaxFile = kib(64);
constexpr std::size_t kShortestNumber = 4;
constexpr std::size_t kShortest = 2;  ///< a single letter occurs in every text

/// Files with identifiers, below each entry of a folder.
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
/// The files in these folders have the names of wireless networks.
constexpr std::array kNetworkFolders = {"/etc/NetworkManager/system-connections", "/var/lib/iwd"};

/// Whether the text is a placeholder that vendors use for a missing number, or a word that occurs
/// in many texts. Replacing it would garble reports.
bool is_no_name(const std::string& text) {
    static constexpr std::array<std::string_view, 8> kNone = {
        "localhost", "localdomain", "default string", "not specified",
        "none",      "n/a",         "unknown",        "to be filled by o.e.m."};
    return text.size() < kShortest || text.find_first_not_of("0:-. ") == std::string::npos ||
           std::ranges::find(kNone, lower_case(text)) != kNone.end();
}

/// Adds a name once. Values in the device tree end in a zero byte.
void add(std::string_view text, std::vector<std::string>& names) {
    std::string name{trimmed(text.substr(0, text.find('\0')))};
    if (!is_no_name(name) && std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
}

/// Adds accounts of people, and the users that this program runs for. root is not personal.
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

/// Adds the names that /etc/hosts lists in the same line as one of ours.
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
/// searches. A search domain without a dot is too general.
void add_hosts(const FileSystem& files, std::vector<std::string>& names) {
    for (const auto* path :
         {"/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname"})
        if (const auto line = files.line(path); line && *line != "(none)")
            add(*line, names);
    std::erase_if(names, [](const std::string& name) { return is_no_name(name); });
    // add() may grow the list, so go by index and only over the names found so far.
    for (std::size_t i = 0, count = names.size(); i < count; ++i)
        if (const auto dot = names[i].find('.'); dot != std::string::npos)
            add(std::string{names[i]}.substr(0, dot), names);
    if (const auto hosts = files.read("/etc/hosts", kMaxFile))
        add_aliases(*hosts, names);
    const auto resolver = files.read("/etc/resolv.conf", kMaxFile);
    // resolv.conf(5): "search" and "domain" are followed by domains.
    for (const auto line : split(resolver ? std::string_view{*resolver} : std::string_view{}, '\n'))
        if (const auto columns = words(line);
            columns.size() > 1 && (columns[0] == "search" || columns[0] == "domain"))
            for (std::size_t i = 1; i < columns.size(); ++i)
                if (columns[i].find('.') != std::string_view::npos)
                    add(columns[i], names);
}

/// Adds serial numbers, addresses, and names of wireless networks without the file's extension.
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

/// Sorts longer names first, so that a name is tried before other names that it begins with.
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

}  // namespace gpuprobe::engine
