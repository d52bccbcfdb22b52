// SPDX-License-Identifier: Apache-2.0
#include "wire/recorded_body.h"

#include <system_error>

#include "base/handle.h"
#include "wire/errors.h"

namespace gpuprobe::bus {
namespace {

constexpr int kMaxLevels = 64;  // of a D-Bus message, as libdbus counts them

Error failed(int problem) {
    return {ErrorCode::Internal, "bus message: " + std::generic_category().message(-problem)};
}

bool is_text(char type) {
    return type == 's' || type == 'o' || type == 'g';
}

using Message = CHandle<sd_bus_message, sd_bus_message_unref>;

}  // namespace

Result<RecordedBody> RecordedBody::of(const Dictionary& answer, sdbus::IObject& maker) try {
    auto message = scratch_message(maker);
    message << answer;
    message.seal();
    message.rewind(true);
    RecordedBody body;
    TRY(body.record(raw_message(message), 0));
    body.steps_.shrink_to_fit();
    body.texts_.shrink_to_fit();
    return body;
} catch (const sdbus::Error& problem) {
    return Error{ErrorCode::Internal, problem.getMessage()};
}

Status RecordedBody::record(sd_bus_message* source, int depth) {
    if (depth > kMaxLevels)
        return Error{ErrorCode::Internal, "bus message: nested too deeply"};
    for (;;) {
        char type = 0;
        const char* contents = nullptr;
        const int more = sd_bus_message_peek_type(source, &type, &contents);
        if (more < 0)
            return failed(more);
        if (more == 0)
            return Done{};
        if (contents == nullptr) {
            TRY(record_basic(source, type));
            continue;
        }
        const auto kept = keep(contents);
        steps_.push_back({.kind = Step::Kind::Open, .type = type, .text = kept});
        if (const int r = sd_bus_message_enter_container(source, type, texts_.data() + kept); r < 0)
            return failed(r);
        TRY(record(source, depth + 1));
        steps_.push_back({.kind = Step::Kind::Close});
        if (const int r = sd_bus_message_exit_container(source); r < 0)
            return failed(r);
    }
}

Status RecordedBody::record_basic(sd_bus_message* source, char type) {
    if (type == 'h')
        return Error{ErrorCode::Internal, "bus message: a descriptor cannot be sent again"};
    Step step{.kind = is_text(type) ? Step::Kind::Text : Step::Kind::Number, .type = type};
    const char* text = nullptr;
    void* const target = is_text(type) ? static_cast<void*>(&text) : &step.number;
    if (const int r = sd_bus_message_read_basic(source, type, target); r < 0)
        return failed(r);
    if (text != nullptr)
        step.text = keep(text);
    steps_.push_back(step);
    return Done{};
}

std::uint32_t RecordedBody::keep(const char* text) {
    const auto at = static_cast<std::uint32_t>(texts_.size());
    texts_ += text;
    texts_ += '\0';
    return at;
}

int RecordedBody::append(sd_bus_message* message, const Step& step) const {
    switch (step.kind) {
        case Step::Kind::Open:
            return sd_bus_message_open_container(message, step.type, texts_.data() + step.text);
        case Step::Kind::Close:
            return sd_bus_message_close_container(message);
        case Step::Kind::Text:
            return sd_bus_message_append_basic(message, step.type, texts_.data() + step.text);
        case Step::Kind::Number:
            break;
    }
    return sd_bus_message_append_basic(message, step.type, &step.number);
}

Status RecordedBody::answer(sd_bus_message* call) const {
    sd_bus_message* made = nullptr;
    if (const int r = sd_bus_message_new_method_return(call, &made); r < 0)
        return failed(r);
    const Message reply{made};
    for (const auto& step : steps_)
        if (const int r = append(made, step); r < 0)
            return failed(r);
    const int r = sd_bus_send(nullptr, made, nullptr);
    return r < 0 ? Status{failed(r)} : Status{Done{}};
}

}  // namespace gpuprobe::bus
