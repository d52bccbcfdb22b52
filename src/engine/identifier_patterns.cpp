// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "engine/redaction.h"
#include "report/api_table.h"

namespace gpuprobe::engine {
namespace {

using Found = std::optional<FoundIdentifier>;

bool is_decimal(char c) {
    return c >= '0' && c <= '9';
}
bool is_hex(char c) {
    return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_alnum(char c) {
    return is_decimal(c) || is_upper(c) || is_lower(c);
}
bool is_space(char c) {
    return c == ' ' || c == '\t';
}

/// A position in a text. The member functions take positions relative to `at`.
struct Place {
    std::string_view text;
    std::size_t at;
    const Identifiers& known;

    [[nodiscard]] std::string_view rest() const { return text.substr(at); }
    /// The character before this position; a line feed at the start of the text.
    [[nodiscard]] char before() const { return at == 0 ? '\n' : text[at - 1]; }
    /// The character `length` characters after this position; a line feed at the end of the text.
    [[nodiscard]] char after(std::size_t length) const {
        return at + length < text.size() ? text[at + length] : '\n';
    }
    /// The number of consecutive characters, starting at `from`, for which `is_one` is true.
    template <class IsOne>
    [[nodiscard]] std::size_t run(IsOne is_one, std::size_t from = 0) const {
        std::size_t length = from;
        while (at + length < text.size() && is_one(text[at + length]))
            ++length;
        return length - from;
    }
};

/// The text in lower case, without the characters in `left_out`.
std::string without(std::string_view text, std::string_view left_out) {
    std::string kept;
    for (const char c : text)
        if (left_out.find(c) == std::string_view::npos)
            kept += c;
    return lower_case(kept);
}

/// Whether all digits are 0 or all are f, which means "unknown".
bool is_blank(std::string_view digits) {
    const auto bare = without(digits, "-:x");
    return bare.find_first_not_of('0') == std::string::npos ||
           bare.find_first_not_of('f') == std::string::npos;
}

/// A match with a placeholder like "[number-1]". Spellings that differ only in case or separators
/// count as the same identifier.
Found word(const Place& place, std::size_t length, std::string_view name, std::size_t kept = 0) {
    return FoundIdentifier{
        .length = length,
        .kept = kept,
        .word = name,
        .identifier = without(place.text.substr(place.at + kept, length - kept), "-:. ")};
}

// The functions from here on are the patterns of the table at the end. Each function returns the
// identifier that begins at this position, or nullopt. The functions also check the character
// before this position, so that only whole words match.
constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kPlainUuidLength = 32;
constexpr std::size_t kUniqueIdLength = 16;

/// 8-4-4-4-12 hexadecimal digits, such as "01234567-89ab-cdef-0123-456789abcdef".
Found uuid(const Place& place) {
    const auto text = place.rest().substr(0, kUuidLength);
    if (is_hex(place.before()) || text.size() < kUuidLength || is_hex(place.after(kUuidLength)))
        return std::nullopt;
    for (std::size_t i = 0; i < kUuidLength; ++i) {
        const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text[i] != '-' : !is_hex(text[i]))
            return std::nullopt;
    }
    if (is_blank(text))
        return std::nullopt;
    return FoundIdentifier{
        .length = kUuidLength, .form = StandIn::Uuid, .identifier = without(text, "-")};
}

/// The serial number of a card in decimal, as in KFD's properties, such as "unique_id
/// 17333131577230011963" (drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
Found decimal_unique_id(const Place& place) {
    if (!place.text.substr(0, place.at).ends_with("unique_id "))
        return std::nullopt;
    const auto length = place.run(is_decimal);
    auto number = parse_number<std::uint64_t>(place.rest().substr(0, length));
    if (!number || *number == 0)
        return std::nullopt;
    // Convert the number to hexadecimal, so that it gets the same placeholder number as in
    // unique_id().
    std::string digits(kUniqueIdLength, '0');
    for (auto digit = digits.rbegin(); *number != 0; ++digit, *number >>= 4U)
        *digit = "0123456789abcdef"[*number & 0xF];
    return FoundIdentifier{
        .length = length, .form = StandIn::DecimalUniqueId, .identifier = std::move(digits)};
}

/// Sixteen hexadecimal digits that aren't part of a longer word: the serial number of a card in
/// the format of amdgpu and ROCm. The addresses in a PCI `resource` file have the same length but
/// follow "0x".
Found unique_id(const Place& place) {
    if (is_hex(place.before()) || place.before() == 'x' || place.run(is_hex) != kUniqueIdLength ||
        is_blank(place.rest().substr(0, kUniqueIdLength)))
        return std::nullopt;
    return FoundIdentifier{.length = kUniqueIdLength,
                           .form = StandIn::UniqueId,
                           .identifier = lower_case(place.rest().substr(0, kUniqueIdLength))};
}

/// Whole words of hexadecimal digits, such as UUIDs without dashes, digests, World Wide Names, MAC
/// addresses without colons, and addresses in memory.
Found long_number(const Place& place, std::size_t shortest) {
    if (is_alnum(place.before()))
        return std::nullopt;
    const auto text = place.rest();
    const std::size_t prefix = text.starts_with("0x") || text.starts_with("0X") ? 2 : 0;
    const auto length = place.run(is_hex, prefix);
    const auto digits = text.substr(prefix, length);
    if (length < (prefix == 0 ? shortest : std::min<std::size_t>(shortest, 9)) ||
        is_alnum(place.after(prefix + length)) || is_blank(digits))
        return std::nullopt;
    // Words as long as a serial number or a UUID are replaced by a placeholder of the same form.
    if (length == kUniqueIdLength)
        return FoundIdentifier{.length = prefix + length,
                               .kept = prefix,
                               .form = StandIn::UniqueId,
                               .identifier = lower_case(digits)};
    if (length == kPlainUuidLength && prefix == 0)
        return FoundIdentifier{
            .length = length, .form = StandIn::PlainUuid, .identifier = lower_case(digits)};
    return word(place, prefix + length, "number");
}
Found long_number_in_fact(const Place& place) {
    return long_number(place, kUniqueIdLength);
}
Found long_number_in_prose(const Place& place) {
    return long_number(place, 12);
}

/// At least `shortest` decimal digits.
Found long_decimal(const Place& place, std::size_t shortest) {
    const auto length = place.run(is_decimal);
    if (is_decimal(place.before()) || length < shortest || is_blank(place.rest().substr(0, length)))
        return std::nullopt;
    return word(place, length, "number");
}
Found long_decimal_in_version(const Place& place) {
    return long_decimal(place, 13);
}
Found long_decimal_in_text(const Place& place) {
    return long_decimal(place, 10);
}

/// MAC addresses and the Device Serial Number of PCI Express, such as "00:11:22:aa:bb:cc" and
/// "00-11-22-33-44-55-66-77".
Found hex_pairs(const Place& place) {
    constexpr std::size_t kFewest = 6;
    const auto text = place.rest();
    const char between = text.size() > 2 ? text[2] : '\n';
    if (is_hex(place.before()) || place.before() == between || (between != ':' && between != '-'))
        return std::nullopt;
    std::size_t count = 0;
    while (place.run(is_hex, 3 * count) == 2) {
        ++count;
        if (place.after(3 * count - 1) != between)
            break;
    }
    if (count < kFewest || is_alnum(place.after(3 * count - 1)) ||
        is_blank(text.substr(0, 3 * count - 1)))
        return std::nullopt;
    return word(place, 3 * count - 1, "address");
}

/// "0011.2233.4455": a MAC address in the notation of network switches.
Found hex_triple(const Place& place) {
    constexpr std::size_t kLength = 14;
    if (is_alnum(place.before()) || place.before() == '.' || place.run(is_hex) != 4 ||
        place.run(is_hex, 5) != 4 || place.run(is_hex, 10) != 4 || place.after(4) != '.' ||
        place.after(9) != '.' || is_alnum(place.after(kLength)) || place.after(kLength) == '.')
        return std::nullopt;
    return word(place, kLength, "address");
}

/// An IPv4 address: four numbers up to 255, separated by dots. A version number with more or fewer
/// parts does not match.
Found ipv4(const Place& place) {
    if (is_alnum(place.before()) || place.before() == '.')
        return std::nullopt;
    std::size_t length = 0;
    for (int part = 0; part < 4; ++part) {
        if (part > 0 && place.after(length++) != '.')
            return std::nullopt;
        const auto digits = place.run(is_decimal, length);
        const auto number = digits <= 3
                                ? parse_number<unsigned>(place.rest().substr(length, digits))
                                : std::nullopt;
        if (!number || *number > 255)
            return std::nullopt;
        length += digits;
    }
    const bool goes_on = place.after(length) == '.' && is_decimal(place.after(length + 1));
    return goes_on || is_alnum(place.after(length)) ? std::nullopt : word(place, length, "address");
}

/// An IPv6 address with "::" or with all eight groups.
Found ipv6(const Place& place) {
    if (is_alnum(place.before()) || place.before() == ':')
        return std::nullopt;
    const auto length = place.run([](char c) { return is_hex(c) || c == ':'; });
    const auto text = place.rest().substr(0, length);
    if (std::ranges::count(text, ':') < 2 || is_alnum(place.after(length)))
        return std::nullopt;
    std::size_t groups = 0;
    for (const auto group : split(text, ':')) {
        if (group.size() > 4)
            return std::nullopt;
        groups += group.empty() ? 0 : 1;
    }
    const bool is_short = text.find("::") != std::string_view::npos && groups > 0;
    const bool ends_well = !text.ends_with(':') || text.ends_with("::");
    return (is_short || groups == 8) && ends_well ? word(place, length, "address") : std::nullopt;
}

bool is_of_local_part(char c) {
    return is_alnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-';
}
bool is_of_host(char c) {
    return is_alnum(c) || c == '.' || c == '-';
}

/// "alice@example.com", "alice@host"
Found email(const Place& place) {
    if (is_of_local_part(place.before()))
        return std::nullopt;
    const auto local = place.run(is_of_local_part);
    if (local == 0 || place.after(local) != '@')
        return std::nullopt;
    const auto host = place.run(is_of_host, local + 1);
    return host == 0 ? std::nullopt : word(place, local + 1 + host, "email");
}

/// The host of a URL with its port, user and password, such as "user:password@host:80" in
/// "https://user:password@host:80/".
Found url_authority(const Place& place) {
    if (!place.text.substr(0, place.at).ends_with("://"))
        return std::nullopt;
    const auto length = place.run([](char c) {
        return c != '/' && c != ' ' && c != '"' && c != '\'' && c != '\n' && c != '>' && c != ')';
    });
    return length == 0 ? std::nullopt : word(place, length, "host");
}

/// Whether the last label of a name is a file extension, not a domain.
bool is_file_ending(std::string_view end) {
    static constexpr std::array<std::string_view, 20> kEndings = {
        "so",  "json", "icd", "conf", "cpp", "log", "bin", "spv", "ko",  "xz",
        "zst", "gz",   "py",  "hpp",  "txt", "bc",  "dll", "sys", "inf", "cache"};
    return std::ranges::find(kEndings, end) != kEndings.end();
}

/// "gpu7.lab.example.com", "printer.local", "example.org". A name with two labels has to end in a
/// known domain, because "file.ext" and "namespace.member" look the same.
Found host_name(const Place& place) {
    static constexpr std::array<std::string_view, 20> kDomains = {
        "local", "lan",  "internal", "corp", "home", "intranet", "localdomain",
        "intra", "arpa", "com",      "org",  "net",  "edu",      "gov",
        "io",    "dev",  "cloud",    "ai",   "de",   "eu"};
    if (is_of_host(place.before()) || place.before() == '/' || place.before() == '_')
        return std::nullopt;
    auto length = place.run(is_of_host);
    // A dot at the end of the name is the end of a sentence.
    while (length > 0 && place.after(length - 1) == '.')
        --length;
    const auto text = lower_case(place.rest().substr(0, length));
    const auto labels = split(std::string_view{text}, '.');
    const auto end = labels.back();
    if (labels.size() < 2 || end.size() < 2 || place.after(length) == '_' || is_file_ending(end) ||
        !std::ranges::all_of(end, is_lower) ||
        std::ranges::any_of(labels, [](std::string_view label) { return label.empty(); }))
        return std::nullopt;
    const bool is_known_domain = std::ranges::find(kDomains, end) != kDomains.end();
    return labels.size() > 2 || is_known_domain ? word(place, length, "host") : std::nullopt;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view start) {
    return text.size() >= start.size() &&
           std::ranges::equal(text.substr(0, start.size()), start, [](char left, char right) {
               const auto lower = [](char c) {
                   return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
               };
               return lower(left) == lower(right);
           });
}

/// The length of `name` if the text contains this name at this position as a whole word, in upper
/// or lower case; otherwise 0.
std::size_t name_at(const Place& place, std::string_view name) {
    const bool is_whole = !is_alnum(place.before()) && !is_alnum(place.after(name.size()));
    return is_whole && starts_with_ignoring_case(place.rest(), name) ? name.size() : 0;
}

/// A serial number or address of this machine, which may have any form.
Found known_number(const Place& place) {
    for (const auto& number : place.known.numbers)
        if (const auto length = name_at(place, number))
            return word(place, length, "number");
    return std::nullopt;
}

/// Whether the word is a vendor, an API, a backend or another word that is frequent in reports. If
/// a user or host has such a name, the name isn't replaced, because the report would lose the
/// names of its GPUs.
bool is_common_word(std::string_view name) {
    static constexpr std::array<std::string_view, 18> kCommon = {
        "nvidia", "amd",   "intel",  "apple",  "arm",     "mesa",   "qualcomm", "gpu",   "llvm",
        "linux",  "video", "render", "radeon", "geforce", "docker", "podman",   "query", "pci"};
    const auto lower = lower_case(name);
    return std::ranges::find(kCommon, lower) != kCommon.end() ||
           std::ranges::any_of(kApis, [&lower](const ApiInfo& api) {
               return api.word == lower || api.backend == lower;
           });
}

/// A name of this host, with a domain that follows it, such as "host.example.com".
Found known_host(const Place& place) {
    for (const auto& host : place.known.hosts)
        if (const auto length = is_common_word(host) ? 0 : name_at(place, host)) {
            const auto more = place.after(length) == '.' ? place.run(is_of_host, length) : 0;
            return FoundIdentifier{.length = length + more,
                                   .form = StandIn::Name,
                                   .word = "host",
                                   .identifier = lower_case(host)};
        }
    return std::nullopt;
}

/// A match with the placeholder "user-1". The home folder and the name of a user get the same
/// number.
Found user(std::string_view name, std::size_t length, std::size_t kept = 0) {
    return FoundIdentifier{.length = length,
                           .kept = kept,
                           .form = StandIn::Name,
                           .word = "user",
                           .identifier = "user " + std::string{name}};
}

Found known_user(const Place& place) {
    for (const auto& name : place.known.users)
        if (const auto length = is_common_word(name) ? 0 : name_at(place, name))
            return user(lower_case(name), length);
    return std::nullopt;
}

/// Bytes above 0x7f are parts of UTF-8 characters.
bool is_of_file_name(char c) {
    return is_alnum(c) || c == '.' || c == '_' || c == '-' || c == '+' || c == '@' || c == '$' ||
           c == '~' || static_cast<unsigned char>(c) >= 0x80;
}

Found home(std::string_view owner, std::size_t length) {
    return FoundIdentifier{.length = length,
                           .form = StandIn::Home,
                           .word = "user",
                           .identifier = "user " + std::string{owner}};
}

/// "/home/NAME", "/Users/NAME", "/root" and the home folders of accounts. The parent folders are
/// also replaced, because "/data/people/NAME" shows where a machine is used.
Found home_folder(const Place& place) {
    const auto text = place.rest();
    if (!text.starts_with('/') && !text.starts_with('\\'))
        return std::nullopt;
    for (const auto& folder : place.known.homes)
        if (folder.size() > 1 && text.starts_with(folder) &&
            !is_of_file_name(place.after(folder.size())) && std::ranges::count(folder, '/') > 1)
            return home(folder.substr(folder.rfind('/') + 1), folder.size());
    for (const std::string_view above : {"/home/", "/Users/", "\\Users\\"})
        if (text.starts_with(above))
            if (const auto length = place.run(is_of_file_name, above.size()))
                return home(lower_case(text.substr(above.size(), length)), above.size() + length);
    constexpr std::string_view kRoot = "/root";
    const bool is_start = !is_of_file_name(place.before()) && place.before() != '/';
    return is_start && text.starts_with(kRoot) && !is_of_file_name(place.after(kRoot.size()))
               ? home("root", kRoot.size())
               : std::nullopt;
}

/// "/run/user/1000", "user-1000.slice", "user@1000.service"
Found user_by_number(const Place& place) {
    for (const std::string_view lead : {"/run/user/", "user-", "user@"})
        if (place.rest().starts_with(lead) && !is_alnum(place.before()))
            if (const auto length = place.run(is_decimal, lead.size()); length >= 4) {
                const auto kept = lead == "user-" ? 0 : lead.size();
                return user(place.rest().substr(lead.size(), length), lead.size() + length, kept);
            }
    return std::nullopt;
}

/// A word that precedes an identifier or a secret.
struct Label {
    std::string_view word;
    bool is_in_kernel = false;    ///< the label also occurs in files of the kernel
    bool takes_the_line = false;  ///< the value may have spaces
    bool needs_sign = false;      ///< a value must follow ":", "=" or "#"

    /// Whether any word after the label is the label's value, even a word without digits.
    [[nodiscard]] bool is_secret() const { return is_in_kernel && word != "serial"; }
};
constexpr Label kLabels[] = {
    {"serial", true},
    {"s/n"},
    {"sn"},
    {"uniq", true, false, true},
    {"wwid", true},
    {"wwn", true},
    {"nguid"},
    {"eui"},
    {"naa"},
    {"guid"},
    {"asset"},
    {"service tag"},
    {"part"},
    {"partno"},
    {"p/n"},
    {"pn", false, false, true},
    {"imei"},
    {"imsi"},
    {"iccid"},
    {"mac"},
    {"ssid", true, true},
    {"essid", true, true},
    {"bssid"},
    {"token", true},
    {"password", true, true},
    {"passwd", true, true},
    {"passphrase", true, true},
    {"pwd", false, true, true},
    {"psk", true, true},
    {"secret", true},
    {"apikey"},
    {"api key"},
    {"api-key"},
    {"api_key"},
    {"key", false, false, true},
    {"authorization", true, true},
    {"bearer", true},
    {"basic", false, false, false},
    {"cookie", false, true, true},
    {"credential"},
    {"session", false, false, true},
    {"license"},
    {"hostname", false, false, true},
    {"host", false, false, true},
    {"nodename", false, false, true},
    {"fqdn", false, false, true},
    {"user", false, false, true},
    {"username", false, false, true},
    {"login", false, false, true},
    {"logname", false, false, true},
    {"account", false, false, true},
    {"owner", false, false, true},
    {"uid", false, false, true},
    {"gid", false, false, true},
    {"machine-id"},
    {"machine id"},
    {"machine_id"},
    {"boot-id"},
    {"boot id"},
    {"boot_id"},
};

/// The length of words that continue a label, such as " number" in "serial number", "_value" in
/// "token_value", and a plural s.
std::size_t label_ending(const Place& place, std::size_t from) {
    static constexpr std::array<std::string_view, 12> kMore = {"number",  "num",  "nr",    "no",
                                                               "id",      "tag",  "key",   "name",
                                                               "address", "addr", "value", "code"};
    std::size_t length = 0;
    for (int words = 0; words < 3; ++words) {
        const char sign = place.after(from + length);
        const std::size_t gap = sign == ' ' || sign == '_' || sign == '-' ? 1 : 0;
        const auto rest =
            place.text.substr(std::min(place.at + from + length + gap, place.text.size()));
        const auto* more = std::ranges::find_if(kMore, [&](std::string_view one) {
            return starts_with_ignoring_case(rest, one) &&
                   (rest.size() == one.size() || !is_alnum(rest[one.size()]) ||
                    rest[one.size()] == 's');
        });
        if (more == kMore.end())
            break;
        length += gap + more->size();
    }
    if (place.after(from + length) == 's')
        ++length;
    return length;
}

bool is_quote(char c) {
    return c == '"' || c == '\'' || c == '`';
}

/// The length of the value that starts at `from`: up to the closing quote if there is a quote
/// before the value, otherwise a word or the rest of the line.
std::size_t value_length(const Place& place, std::size_t from, bool takes_the_line) {
    const char quote = from > 0 && is_quote(place.after(from - 1)) ? place.after(from - 1) : '\n';
    return place.run(
        [&](char c) {
            if (c == '\n' || c == '\r' || c == quote)
                return false;
            if (takes_the_line || quote != '\n')
                return true;
            return !is_space(c) && c != ',' && c != ';' && c != ')' && c != ']' && c != '}' &&
                   !is_quote(c);
        },
        from);
}

/// A label with its value: LABEL [quote] [sign] [quote] VALUE, or LABEL is VALUE. Without sign or
/// quotes, a value that isn't a secret needs four characters and a digit, so "part 2" isn't a
/// match.
Found labelled_by(const Place& place, const Label& label) {
    auto length = label.word.size();
    if (!starts_with_ignoring_case(place.rest(), label.word))
        return std::nullopt;
    length += label_ending(place, length);
    if (is_alnum(place.after(length)) || place.after(length) == '_')
        return std::nullopt;
    const auto skip = [&](auto is_one) { length += place.run(is_one, length); };
    skip(is_quote);
    const auto blanks = place.run(is_space, length);
    length += blanks;
    const char sign = place.after(length);
    const bool has_sign = sign == ':' || sign == '=' || sign == '#';
    if (has_sign)
        ++length;
    skip(is_space);
    if (!has_sign && starts_with_ignoring_case(place.rest().substr(length), "is "))
        length += 3;
    if (!has_sign && (blanks == 0 || label.needs_sign))
        return std::nullopt;
    const bool is_quoted = is_quote(place.after(length));
    if (is_quoted)
        ++length;
    const auto value = value_length(place, length, label.takes_the_line && has_sign);
    const auto text = place.rest().substr(length, value);
    const bool is_clear = has_sign || is_quoted || label.is_secret();
    const bool is_one = is_clear ? value > 0 : value >= 4 && std::ranges::any_of(text, is_decimal);
    return is_one && !text.starts_with('[') ? word(place, length + value, "value", length)
                                            : std::nullopt;
}

/// The match of the first label that matches.
Found labelled(const Place& place) {
    if (is_alnum(place.before()))
        return std::nullopt;
    for (const auto& label : kLabels)
        if (auto found = labelled_by(place, label))
            return found;
    return std::nullopt;
}

/// Matches only labels that occur in files of the kernel, and only if a sign follows the label.
Found labelled_in_kernel(const Place& place) {
    if (is_alnum(place.before()))
        return std::nullopt;
    for (auto label : kLabels)
        if (label.is_in_kernel) {
            label.needs_sign = true;
            if (auto found = labelled_by(place, label))
                return found;
        }
    return std::nullopt;
}

/// A word of letters and digits, such as a serial number or part number. The word has at least 8
/// capital letters, digits and dashes, including 4 digits, or at least 12 letters and digits,
/// including 5 digits.
Found serial_like(const Place& place) {
    if (is_alnum(place.before()) || place.before() == '_' || place.before() == '-')
        return std::nullopt;
    const auto length = place.run([](char c) { return is_upper(c) || is_decimal(c) || c == '-'; });
    const auto text = place.rest().substr(0, length);
    const auto digits = std::ranges::count_if(text, is_decimal);
    const bool is_long = length >= 8 && length < kUuidLength && digits >= 4;
    const bool has_more = std::ranges::any_of(text, is_upper) || digits >= 6;
    if (is_long && has_more && !is_alnum(place.after(length)) && place.after(length) != '_')
        return word(place, length, "number");
    const auto mixed = place.run(is_alnum);
    const bool is_mixed = mixed >= 12 && mixed < kUuidLength && place.after(mixed) != '_' &&
                          std::ranges::count_if(place.rest().substr(0, mixed), is_decimal) >= 5;
    return is_mixed ? word(place, mixed, "number") : std::nullopt;
}

/// Access tokens with a known prefix, such as those of Hugging Face, GitHub, GitLab, NVIDIA, Slack,
/// OpenAI, AWS, JWT, Docker.
Found named_key(const Place& place) {
    static constexpr std::array<std::string_view, 14> kLeads = {
        "hf_",   "ghp_",  "gho_", "ghs_", "github_pat_", "glpat-", "nvapi-",
        "xoxb-", "xoxp-", "sk-",  "AKIA", "ASIA",        "eyJ",    "dckr_pat_"};
    if (is_alnum(place.before()))
        return std::nullopt;
    for (const auto lead : kLeads)
        if (place.rest().starts_with(lead)) {
            const auto length =
                place.run([](char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; });
            return length >= lead.size() + 6 ? word(place, length, "key") : std::nullopt;
        }
    return std::nullopt;
}

/// Whether the word is the name of a function of an API. Names of functions mix upper and lower
/// case, as keys do.
bool is_function_name(std::string_view text) {
    static constexpr std::array<std::string_view, 13> kLeads = {
        "vk", "cl", "cu", "ze", "zes", "hip", "hsa", "nvml", "egl", "gl", "drm", "roc", "va"};
    const bool has_lead = std::ranges::any_of(kLeads, [text](std::string_view lead) {
        return text.starts_with(lead) && text.size() > lead.size() && is_upper(text[lead.size()]);
    });
    return has_lead && std::ranges::count_if(text, is_decimal) <= 2;
}

/// A long word that mixes lower case, upper case and digits, or ends in '=': keys and tokens in
/// base64.
Found key_like(const Place& place) {
    constexpr std::size_t kShortest = 20;
    const auto is_of_key = [](char c) {
        return is_alnum(c) || c == '+' || c == '/' || c == '=' || c == '_' || c == '-';
    };
    if (is_of_key(place.before()) || place.before() == '.' || place.after(0) == '/')
        return std::nullopt;
    const auto length = place.run(is_of_key);
    const auto text = place.rest().substr(0, length);
    const bool is_mixed = std::ranges::any_of(text, is_upper) &&
                          std::ranges::any_of(text, is_lower) &&
                          std::ranges::any_of(text, is_decimal);
    if (text.starts_with("GPU-") || text.starts_with("MIG-"))
        return std::nullopt;  // the text is the beginning of a UUID
    const bool is_padded = length >= 8 && text.ends_with('=');
    if ((!is_padded && (length < kShortest || !is_mixed)) || is_function_name(text))
        return std::nullopt;
    return word(place, length, "key");
}

/// A pattern with the kinds of text in which it is used.
struct Pattern {
    Found (*find)(const Place& place);
    bool in_kernel = false;
    bool in_version = false;
    bool in_fact = false;
    bool in_prose = false;
};
/// The patterns in the order in which they are tried. More specific patterns come first.
constexpr Pattern kPatterns[] = {
    {decimal_unique_id, true, true, true, true},
    {uuid, true, true, true, true},
    {hex_pairs, true, true, true, true},
    {home_folder, true, true, true, true},
    {user_by_number, true, true, true, true},
    {known_number, true, true, true, true},
    {labelled_in_kernel, true, false, false, false},
    {labelled, false, false, true, true},
    {unique_id, true, true, false, false},
    {long_number_in_fact, false, false, true, false},
    {long_number_in_prose, false, false, false, true},
    {long_decimal_in_version, false, true, false, false},
    {long_decimal_in_text, false, false, true, true},
    {hex_triple, false, false, false, true},
    {url_authority, false, false, true, true},
    {email, true, true, true, true},
    {ipv4, false, false, true, true},
    {ipv6, false, false, true, true},
    {known_host, false, true, true, true},
    {known_user, false, true, true, true},
    {host_name, false, false, false, true},
    {named_key, false, false, true, true},
    {serial_like, false, false, false, true},
    {key_like, false, false, false, true},
};

bool is_in(const Pattern& pattern, TextKind kind) {
    switch (kind) {
        case TextKind::Kernel:
            return pattern.in_kernel;
        case TextKind::Version:
            return pattern.in_version;
        case TextKind::Fact:
            return pattern.in_fact;
        case TextKind::Prose:
            return pattern.in_prose;
    }
    return true;
}

}  // namespace

std::optional<FoundIdentifier> identifier_at(std::string_view text,
                                             std::size_t at,
                                             TextKind kind,
                                             const Identifiers& known) {
    const Place place{.text = text, .at = at, .known = known};
    for (const auto& pattern : kPatterns)
        if (is_in(pattern, kind))
            if (auto found = pattern.find(place))
                return found;
    return std::nullopt;
}

}  // namespace gpuprobe::engine
