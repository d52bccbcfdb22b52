// SPDX-License-Identifier: Apache-2.0
#include "inventory/sysfs.h"

#include "base/text.h"

namespace gpuprobe::inline inventory {
namespace {

/// The first line, up to the first NUL: some attributes are padded with NULs (amdgpu's unique_id).
std::string_view first_line(std::string_view text) {
    text = text.substr(0, text.find('\n'));
    return trimmed(text.substr(0, text.find('\0')));
}

}  // namespace

void Sysfs::note(std::string text) const {
    if (notes_.size() < kMaxNotes)
        notes_.push_back(scrubbed(text));
}

void Sysfs::note(const Error& error) const {
    // Most attributes exist only for some drivers and kernels: a missing file needs no note.
    if (error.code != ErrorCode::NotFound)
        note(error.text);
}

std::optional<std::string> Sysfs::content(const std::string& path) const {
    auto text = files_.read(path, kMaxAttribute);
    if (!text) {
        note(text.error());
        return std::nullopt;
    }
    return std::move(text).value();
}

std::optional<std::string> Sysfs::text(const std::string& path) const {
    const auto whole = content(path);
    if (!whole)
        return std::nullopt;
    auto line = scrubbed(first_line(*whole));
    return line.empty() ? std::nullopt : std::optional{std::move(line)};
}

std::optional<std::uint64_t> Sysfs::number(const std::string& path) const {
    const auto line = text(path);
    return line ? parse_number<std::uint64_t>(*line) : std::nullopt;
}

std::vector<std::string> Sysfs::names(const std::string& folder) const {
    auto list = files_.list(folder);
    if (list)
        return std::move(list).value();
    note(list.error());
    return {};
}

std::optional<std::string> Sysfs::link_name(const std::string& path) const {
    const auto target = files_.link_target(path);
    if (!target)
        return std::nullopt;  // some captures have a plain folder here: not worth a note
    auto name = scrubbed(base_name(*target));
    return name.empty() ? std::nullopt : std::optional{std::move(name)};
}

std::optional<std::string> Sysfs::resolved(const std::string& path) const {
    auto real = files_.real_path(path);
    if (real)
        return std::move(real).value();
    note(real.error());
    return std::nullopt;
}

KeyValues Sysfs::key_values(const std::string& path) const {
    KeyValues values;
    const auto whole = content(path);
    if (!whole)
        return values;
    for (const auto line : split(*whole, '\n')) {
        const auto equals = line.find('=');
        if (equals != std::string_view::npos)
            values.emplace(scrubbed(line.substr(0, equals)), scrubbed(line.substr(equals + 1)));
    }
    return values;
}

std::string_view base_name(std::string_view path) {
    const auto slash = path.find_last_of('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view folder_of(std::string_view path) {
    const auto slash = path.find_last_of('/');
    return slash == std::string_view::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<std::string> hex_digits(std::string_view text, std::size_t digits) {
    const auto number = parse_hex<std::uint64_t>(text);
    if (!number)
        return std::nullopt;
    std::string hex;
    // Pad with zeros up to `digits`, but never cut digits off: a number that needs more is
    // rejected.
    for (auto rest = *number; rest != 0 || hex.size() < digits; rest >>= 4)
        hex.insert(hex.begin(), "0123456789abcdef"[rest & 0xf]);
    return hex.size() == digits ? std::optional{std::move(hex)} : std::nullopt;
}

std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t number = 0;
    for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
        number = number << 8 | static_cast<unsigned char>(*byte);
    return number;
}

}  // namespace gpuprobe::inline inventory
