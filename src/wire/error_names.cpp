// SPDX-License-Identifier: Apache-2.0
#include "wire/error_names.h"

#include <algorithm>
#include <iterator>

namespace gpuprobe::bus {
namespace {

constexpr std::string_view kPrefix = "org.gpuprobe.GpuProbe1.Error.";

constexpr NamedError kNames[] = {
    {ErrorCode::Io, "Failed"},
    {ErrorCode::NotFound, "NotFound"},
    {ErrorCode::PermissionDenied, "PermissionDenied"},
    // manifests are the only documents that callers send
    {ErrorCode::Malformed, "MalformedManifest"},
    {ErrorCode::TooLarge, "TooLarge"},
    {ErrorCode::InvalidRequest, "InvalidRequest"},
    {ErrorCode::UnknownConsumer, "UnknownConsumer"},
    {ErrorCode::UnknownDevice, "NoSuchGpu"},
    {ErrorCode::NoMatch, "NoMatch"},
    {ErrorCode::WouldWake, "WouldWake"},
    {ErrorCode::ProbeFailed, "ProbeFailed"},
    {ErrorCode::TooManyRequests, "TooManyRequests"},
    {ErrorCode::Cancelled, "Cancelled"},
    {ErrorCode::NotAuthorized, "NotAuthorized"},
    {ErrorCode::Unavailable, "Unavailable"},
    {ErrorCode::Internal, "Internal"},
};

}  // namespace

std::string error_name(ErrorCode code) {
    // All codes have a name; "Internal" is only a precaution.
    const auto* entry = std::ranges::find(kNames, code, &NamedError::code);
    return std::string{kPrefix} + std::string{entry == std::end(kNames) ? "Internal" : entry->name};
}

std::optional<ErrorCode> error_code(std::string_view name) {
    if (!name.starts_with(kPrefix))
        return std::nullopt;
    const auto* entry = std::ranges::find(kNames, name.substr(kPrefix.size()), &NamedError::name);
    return entry == std::end(kNames) ? std::nullopt : std::optional{entry->code};
}

}  // namespace gpuprobe::bus
