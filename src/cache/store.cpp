// SPDX-License-Identifier: Apache-2.0
#include "cache/store.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/files.h"
#include "base/handle.h"
#include "base/parse.h"
#include "base/value_json.h"

namespace gpuprobe {
namespace {

/// The file: one line "gpuprobe-cache 1 <crc32>" over everything after it, then one JSON document.
constexpr std::string_view kMagic = "gpuprobe-cache 1 ";
constexpr Bytes kMaxCache = mib(8);

std::string checksum(std::string_view text) {
    const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
    char digits[9] = {};
    std::snprintf(digits, sizeof digits, "%08lx", sum);
    return digits;
}

Status check_owner(const UniqueFd& fd, const std::string& path) {
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return errno_error(path, errno);
    if (!S_ISREG(info.st_mode))
        return Error{ErrorCode::Io, path + ": not a regular file"};
    if (info.st_uid != ::geteuid())
        return Error{ErrorCode::PermissionDenied, path + ": belongs to another user"};
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return Error{ErrorCode::PermissionDenied, path + ": others may write it"};
    return Done{};
}

Result<std::string> read_own_file(const std::string& path) {
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (!fd)
        return errno_error(path, errno);
    (void)TRY(check_owner(fd, path));
    std::string text;
    char buffer[16384];
    for (;;) {
        const auto count = ::read(fd.get(), buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno_error(path, errno);
        if (count == 0)
            return text;
        text.append(buffer, static_cast<std::size_t>(count));
        if (text.size() > kMaxCache.count)
            return Error{ErrorCode::TooLarge, path + ": too large"};
    }
}

/// The JSON after the first line, if the line fits it.
Result<std::string_view> checked_body(std::string_view text) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos || !text.starts_with(kMagic))
        return Error{ErrorCode::Malformed, "not a cache of this version"};
    const auto body = text.substr(end + 1);
    if (text.substr(kMagic.size(), end - kMagic.size()) != checksum(body))
        return Error{ErrorCode::Malformed, "checksum does not fit"};
    return body;
}

}  // namespace

Result<std::vector<ProbeResult>> ProbeCache::load(std::string_view fingerprint) const {
    const auto text = TRY(read_own_file(path_));
    const auto body = checked_body(text);
    if (!body)
        return Error{body.error()}.in(path_);
    auto document = parse_json(*body, kMaxCache);
    if (!document)
        return std::move(document).error().in(path_);
    const auto* made_for = document->at("fingerprint").as_string();
    if (!made_for || *made_for != fingerprint)
        return Error{ErrorCode::NotFound, path_ + ": made for another state of the machine"};
    const auto* items = document->at("probes").as_array();
    if (!items)
        return Error{ErrorCode::Malformed, path_ + ": probes: missing"};
    std::vector<ProbeResult> probes;
    for (const auto& item : *items) {
        auto probe = probe_result_from(item);
        if (!probe)
            return std::move(probe).error().in(path_);
        probes.push_back(std::move(probe).value());
    }
    return probes;
}

Status ProbeCache::save(std::string_view fingerprint,
                        const std::vector<ProbeResult>& probes) const {
    Value document;
    document["fingerprint"] = Value{fingerprint};
    document["probes"] = Value{Value::Array{}};
    for (const auto& probe : probes)
        document["probes"].push_back(value_of(probe));
    const auto body = json_line(document) + "\n";
    return write_atomically(path_, std::string{kMagic} + checksum(body) + "\n" + body, 0600);
}

}  // namespace gpuprobe
