// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "calls/interface.h"
#include "calls/methods.h"
#include "fuzz/input.h"
#include "wire/varlink.h"

namespace {

using namespace gpuprobe;

/// The messages that are read if the text arrives in blocks of this size.
std::vector<std::string> messages_in(std::string_view text, std::size_t block) {
    varlink::MessageReader reader;
    std::vector<std::string> messages;
    for (std::size_t at = 0; at < text.size(); at += block) {
        if (!reader.add(text.substr(at, block)))
            break;
        while (const auto message = reader.next())
            messages.emplace_back(*message);
    }
    return messages;
}

}  // namespace

/// Reads data from a client of the socket. The messages must not depend on the size of the blocks.
/// Each message is read as a call.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = support::text_of_input(data, size);
    const auto messages = messages_in(text, 1);
    if (messages != messages_in(text, 7) || messages != messages_in(text, size + 1))
        std::abort();
    for (const auto& message : messages) {
        const auto call = varlink::call_from(message);
        if (!call)
            continue;
        if (!call->parameters.is_object())
            std::abort();
        (void)traits_of({.method = call->method, .parameters = call->parameters}, Report{});
        (void)with_table_keys(call->parameters, select_keys());
    }
    return 0;
}
