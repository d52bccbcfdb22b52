// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gpuprobe/gpuprobe.h>

#include "calls/interface_text.h"
#include "calls/methods.h"
#include "fuzz/input.h"
#include "wire/varlink.h"

namespace {

using namespace gpuprobe;

/// The messages that come out when the text comes in blocks of that size.
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

/// A program reads what claims to be an answer.
void read_as_answer(const std::string& text) {
    for (const char* pointer :
         {"", "/parameters", "/parameters/gpus/0/id", "/a~1b/~0", text.c_str()}) {
        const std::unique_ptr<char, void (*)(char*)> value{::gpuprobe_value(text.c_str(), pointer),
                                                           ::gpuprobe_free};
        const auto count = ::gpuprobe_count(text.c_str(), pointer);
        const std::unique_ptr<char, void (*)(char*)> key{
            ::gpuprobe_key(text.c_str(), pointer, count - 1), ::gpuprobe_free};
        if (key && count < 1)
            std::abort();
    }
}

}  // namespace

/// What a client of the socket sends: messages are the same however they are cut, and each is read
/// as a call. The same text is read as an answer too, by the library.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = testing::text_of_input(data, size);
    const auto messages = messages_in(text, 1);
    if (messages != messages_in(text, 7) || messages != messages_in(text, size + 1))
        std::abort();
    for (const auto& message : messages) {
        const auto call = varlink::call_from(message);
        if (!call)
            continue;
        if (!call->parameters.is_object())
            std::abort();
        (void)traits_of({.method = call->method, .parameters = call->parameters});
        (void)with_table_keys(call->parameters, select_keys());
    }
    read_as_answer(std::string{text});
    return 0;
}
