// SPDX-License-Identifier: Apache-2.0
#include "wire/varlink.h"

#include <algorithm>
#include <iterator>

#include "base/record.h"
#include "base/value.h"

namespace gpuprobe::bus {
namespace {

constexpr std::string_view kPrefix = "org.gpuprobe.GpuProbe1.Error.";

struct NamedError {
    ErrorCode code;
    std::string_view name;
};

constexpr NamedError kNames[] = {
    {ErrorCode::Io, "Failed"},
    {ErrorCode::NotFound, "NotFound"},
    {ErrorCode::PermissionDenied, "PermissionDenied"},
    // the only documents that callers send are manifests
    {ErrorCode::Malformed, "MalformedManifest"},
    {ErrorCode::TooLarge, "TooLarge"},
    {ErrorCode::InvalidRequest, "InvalidRequest"},
    {ErrorCode::UnknownApplication, "UnknownApplication"},
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
    // All codes have a name, so "Internal" is only a precaution.
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

namespace gpuprobe::varlink {
namespace {

/// The members of a call, as the message contains them. A null counts as a missing member.
struct CallMembers {
    std::string method = {};
    Value parameters = {};
    std::optional<bool> more = {};
    std::optional<bool> oneway = {};
};
RECORD_MEMBERS(CallMembers, method, parameters, more, oneway)

/// Whether a JSON text has more than kMaxValues members and items. Counting in the text avoids
/// allocating memory for these values.
bool holds_too_much(std::string_view message) {
    std::size_t count = 0;
    bool is_text = false;
    // Each value except the first follows a comma or an opening bracket that is outside strings.
    // For an empty container, the count may be one too high, which does not matter.
    for (std::size_t at = 0; at < message.size() && count <= kMaxValues; ++at) {
        const char c = message[at];
        if (c == '"')
            is_text = !is_text;
        else if (is_text && c == '\\')
            ++at;
        else if (!is_text && (c == ',' || c == '[' || c == '{'))
            ++count;
    }
    return count > kMaxValues;
}

}  // namespace

bool take_interactive(Value& parameters) {
    auto* const members = parameters.as_object();
    const auto* given = parameters.find(kInteractive);
    const auto flag = given ? given->as_bool() : std::nullopt;
    if (!members || !flag)
        return false;
    std::erase_if(*members, [](const Value::Member& member) { return member.key == kInteractive; });
    return *flag;
}

Result<Call> call_from(std::string_view message) {
    if (holds_too_much(message))
        return Error{ErrorCode::Malformed, "over 4096 values in one call"};
    const auto document = TRY(parse_json(message, kMaxMessage));
    auto members = TRY(record_from<CallMembers>(document));
    Call call{.method = std::move(members.method),
              .more = members.more.value_or(false),
              .oneway = members.oneway.value_or(false)};
    if (members.parameters.is_object())
        call.parameters = std::move(members.parameters);
    else if (!members.parameters.is_null())
        return Error{ErrorCode::Malformed, "parameters: expected object"};
    call.may_be_asked = take_interactive(call.parameters);
    return call;
}

/// Appends bytes. Increases the capacity by a quarter; std::string would double the capacity, which
/// is too much for large messages.
void MessageReader::append(std::string_view bytes) {
    constexpr std::size_t kLarge = kib(64).count;
    const auto size = text_.size() + bytes.size();
    if (size > text_.capacity() && size > kLarge) {
        std::string larger;
        larger.reserve(size + size / 4);
        larger.append(text_);
        text_.swap(larger);
    }
    text_.append(bytes);
}

Status MessageReader::add(std::string_view bytes) {
    // Drop the messages that next() has returned.
    if (start_ > 0) {
        text_.erase(0, start_);
        known_ -= start_;
        start_ = 0;
    }
    append(bytes);
    // Only the first message must be within the limit, because more messages may follow.
    const auto first_end = text_.find('\0', known_);
    const auto first = first_end == std::string::npos ? text_.size() : first_end;
    if (first > kMaxMessage.count)
        return Error{ErrorCode::TooLarge, "a message is larger than 2 MiB"};
    known_ = first;
    return Done{};
}

std::optional<std::string_view> MessageReader::next() {
    const auto end = text_.find('\0', known_);
    if (end == std::string::npos) {
        known_ = text_.size();
        return std::nullopt;
    }
    const auto message = std::string_view{text_}.substr(start_, end - start_);
    start_ = known_ = end + 1;
    return message;
}

void MessageReader::release() {
    constexpr std::size_t kWorthIt = kib(1).count;
    // Moving the rest takes time, so only move it if most of the memory is unused.
    if (text_.capacity() <= kWorthIt || text_.capacity() <= 4 * size())
        return;
    text_ = text_.substr(start_);
    text_.shrink_to_fit();
    known_ -= start_;
    start_ = 0;
}

std::string reply(std::string_view error, std::string_view document, bool continues) {
    std::string text;
    text.reserve(document.size() + error.size() + 64);
    text += '{';
    if (!error.empty())
        text.append("\"error\":\"").append(error).append("\",");
    text.append("\"parameters\":").append(document);
    // Varlink omits `continues` if it is false.
    text += continues ? ",\"continues\":true}" : "}";
    text += '\0';
    return text;
}

}  // namespace gpuprobe::varlink
