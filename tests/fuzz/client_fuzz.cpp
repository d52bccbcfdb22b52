// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gpuprobe/gpuprobe.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/value.h"
#include "fuzz/input.h"

namespace {

using namespace gpuprobe;

std::optional<std::string> taken(char* text) {
    const std::unique_ptr<char, void (*)(char*)> owner{text, ::gpuprobe_free};
    return text ? std::optional<std::string>{text} : std::nullopt;
}

std::string part_of_pointer(const std::string& key) {
    std::string part = "/";
    for (const char c : key)
        part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return part;
}

/// Checks that the client library finds the same members as the daemon's JSON parser.
void check_same(const char* json, const Value& value) {
    const auto* members = value.as_object();
    if (!members)
        return;
    if (::gpuprobe_count(json, "") != static_cast<long>(members->size()))
        std::abort();
    for (const auto& [key, member] : *members) {
        const auto* text = member.as_string();
        const bool has_nul = (key + (text ? *text : "")).find('\0') != std::string::npos;
        if (text && !has_nul &&
            taken(::gpuprobe_value(json, part_of_pointer(key).c_str())) != *text)
            std::abort();
    }
}

void read_json(const char* json, std::size_t size, const char* pointer) {
    for (const char* place : {"", "/parameters", "/gpus/0/id", "/a~1b/~0", pointer}) {
        (void)taken(::gpuprobe_value(json, place));
        const auto count = ::gpuprobe_count(json, place);
        if (taken(::gpuprobe_key(json, place, count - 1)) && count < 1)
            std::abort();
        const char* at = nullptr;
        char* key = nullptr;
        long walked = 0;
        for (; const char* item = ::gpuprobe_each(json, place, &at, &key); ++walked) {
            (void)taken(key);
            (void)taken(::gpuprobe_value(item, ""));
        }
        if (walked != std::max(count, 0L))
            std::abort();
    }
    const bool is_whole =
        std::strlen(json) == size && !std::string_view{json}.starts_with("\xef\xbb\xbf");
    if (const auto value = parse_json(json, mib(1)); value && is_whole)
        check_same(json, *value);
}

/// A client that follows the events of a daemon. This process is the daemon.
class Followed {
public:
    Followed()
        : path_{std::filesystem::temp_directory_path() /
                ("gpuprobe-fuzz." + std::to_string(::getpid()))},
          listening_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        ::unlink(path_.c_str());
        if (::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
            ::listen(listening_, 1) != 0 || ::gpuprobe_open(&client_, path_.c_str(), 0) != 0)
            std::abort();
    }
    Followed(const Followed&) = delete;
    Followed& operator=(const Followed&) = delete;
    ~Followed() {
        ::gpuprobe_close(client_);
        ::close(listening_);
        ::unlink(path_.c_str());
    }

    /// Sends these bytes to the client, which reads them as events.
    void read(std::string_view bytes) const {
        if (::gpuprobe_watch(client_) < 0)
            std::abort();
        const int peer = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        while (!bytes.empty()) {
            const auto sent = ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            bytes.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
            if (!take_events() && sent <= 0)
                break;
        }
        ::close(peer);
        (void)take_events();
    }

private:
    /// Whether the client still follows the daemon.
    [[nodiscard]] bool take_events() const {
        for (;;) {
            char* json = nullptr;
            const int code = ::gpuprobe_watch_next(client_, &json);
            const auto document = taken(json);
            if (document && ::gpuprobe_count(document->c_str(), code < 0 ? "/error" : "") < 0)
                std::abort();  // every answer is an object, and so is every error
            if (code == 0 || (code < 0 && !document))
                return code == 0;
        }
    }

    std::string path_;
    int listening_;
    ::gpuprobe_client* client_ = nullptr;
};

/// Copies a string into a block of exactly its size, so that AddressSanitizer finds overreads.
std::vector<char> in_exact_block(std::string_view text) {
    std::vector<char> block(text.size() + 1);
    text.copy(block.data(), text.size());
    return block;
}

}  // namespace

/// Reads JSON with the client library, and sends the same bytes to a client as a false daemon. The
/// first line of the input is the JSON pointer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Followed followed;
    const auto [pointer, text] = support::halves_at(support::text_of_input(data, size), "\n");
    read_json(in_exact_block(text).data(), text.size(), in_exact_block(pointer).data());
    followed.read(text);
    return 0;
}
