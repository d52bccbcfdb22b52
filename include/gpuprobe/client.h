// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gpuprobe/gpuprobe.h>

/// Asks gpuprobe from C++, over the library of gpuprobe.h. Link with -lgpuprobe; all else is in
/// this header.
namespace gpuprobe::api {

/// What was refused, or why nobody could be asked.
class [[gnu::visibility("default")]] Failure : public std::runtime_error {
public:
    Failure(std::string name, const std::string& text)
        : std::runtime_error{text}, name_{std::move(name)} {}
    /// As on the bus: "org.gpuprobe.GpuProbe1.Error.UnknownConsumer".
    [[nodiscard]] const std::string& name() const {
        return name_;
    }

private:
    std::string name_;
};

/// What only the caller knows. docs/consumers.md, "The request", says what each key means.
struct Request {
    std::optional<std::vector<std::string>> built = {};  ///< backends compiled in; absent: any
    std::vector<std::string> prefer = {};
    std::vector<std::string> only = {};
    std::vector<std::string> deny = {};
    std::vector<std::string> gpus = {};     ///< ids
    std::vector<std::string> require = {};  ///< predicates: "vulkan>=1.2"
    std::optional<std::string> backend = {};
    std::optional<std::uint64_t> min_memory = {};  ///< bytes, of each GPU
    std::optional<bool> strict = {};
};

/// One backend on one GPU, or on none, and what became of it.
struct Candidate {
    std::string backend = {};
    std::optional<std::string> gpu = {};
    std::string verdict = {};               ///< "accepted", "rejected" or "unknown"
    std::vector<std::string> reasons = {};  ///< codes: docs/reasons.md
};

/// The answer to "which backend?".
struct Choice {
    std::string backend = {};            ///< the consumer's name of it
    std::vector<std::string> gpus = {};  ///< ids, best first; none for the CPU
    std::map<std::string, std::string> environment = {};
    std::map<std::string, std::string> answers = {};  ///< what else the consumer's profile answers
    std::vector<std::string> messages = {};           ///< the consumer's own texts
    std::string summary = {};  ///< "requested=auto detected=[cuda,cpu] selected=cuda"
    std::uint64_t generation = 0;
    std::vector<Candidate> candidates = {};
};

namespace detail {

/// A JSON document, read with the library.
class Document {
public:
    explicit Document(std::string text) : text_{std::move(text)} {}

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] std::optional<std::string> value(const std::string& pointer) const {
        return taken(::gpuprobe_value(text_.c_str(), pointer.c_str()));
    }
    [[nodiscard]] std::string word(const std::string& pointer) const {
        return value(pointer).value_or("");
    }
    [[nodiscard]] long count(const std::string& pointer) const {
        return ::gpuprobe_count(text_.c_str(), pointer.c_str());
    }
    [[nodiscard]] std::vector<std::string> words(const std::string& pointer,
                                                 const std::string& member = "") const {
        std::vector<std::string> words;
        for (long i = 0; i < count(pointer); ++i)
            words.push_back(word(pointer + "/" + std::to_string(i) + member));
        return words;
    }
    [[nodiscard]] std::map<std::string, std::string> map(const std::string& pointer) const {
        const Document object{word(pointer)};
        std::map<std::string, std::string> map;
        for (long i = 0; i < object.count(""); ++i)
            if (const auto key = taken(::gpuprobe_key(object.text_.c_str(), "", i)))
                map.emplace(*key, object.word("/" + escaped(*key)));
        return map;
    }

private:
    static std::optional<std::string> taken(char* text) {
        const std::unique_ptr<char, void (*)(char*)> owner{text, ::gpuprobe_free};
        return text ? std::optional<std::string>{text} : std::nullopt;
    }
    /// A key as a part of a pointer. Source: RFC 6901, section 3.
    static std::string escaped(const std::string& key) {
        std::string part;
        for (const char c : key)
            part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
        return part;
    }

    std::string text_;
};

inline std::string quoted(const std::string& text) {
    static const char* const digits = "0123456789abcdef";
    std::string json = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || c == '"' || c == '\\')
            json.append("\\u00").append({digits[byte >> 4U], digits[byte & 15U]});
        else
            json += c;
    }
    return json + "\"";
}

inline std::string json_of(const std::vector<std::string>& words) {
    std::string json = "[";
    for (const auto& word : words)
        json.append(json.size() > 1 ? "," : "").append(quoted(word));
    return json + "]";
}

inline std::string json_of(const Request& request) {
    std::string json = "{";
    const auto add = [&json](const char* key, const std::string& value) {
        json.append(json.size() > 1 ? "," : "").append(quoted(key)).append(":").append(value);
    };
    if (request.built)
        add("built", json_of(*request.built));
    const std::pair<const char*, const std::vector<std::string>*> lists[] = {
        {"prefer", &request.prefer}, {"only", &request.only},       {"deny", &request.deny},
        {"gpus", &request.gpus},     {"require", &request.require},
    };
    for (const auto& [key, words] : lists)
        if (!words->empty())
            add(key, json_of(*words));
    if (request.backend)
        add("backend", quoted(*request.backend));
    if (request.min_memory)
        add("min-memory", std::to_string(*request.min_memory));
    if (request.strict)
        add("strict", *request.strict ? "true" : "false");
    return json + "}";
}

inline std::vector<Candidate> candidates_in(const Document& document, const std::string& pointer) {
    std::vector<Candidate> candidates;
    for (long i = 0; i < document.count(pointer); ++i) {
        const auto place = pointer + "/" + std::to_string(i);
        candidates.push_back({.backend = document.word(place + "/backend"),
                              .gpu = document.value(place + "/gpu"),
                              .verdict = document.word(place + "/verdict"),
                              .reasons = document.words(place + "/reasons", "/code")});
    }
    return candidates;
}

inline Failure failure_of(int code, const Document& document) {
    const auto name = document.value("/error/name");
    if (name)
        return Failure{*name, document.word("/error/message")};
    const bool is_absent = code == -ECONNREFUSED || code == -ECONNRESET || code == -ETIMEDOUT;
    return Failure{
        std::string{"org.gpuprobe.GpuProbe1.Error."} + (is_absent ? "Unavailable" : "Internal"),
        std::strerror(-code)};
}

}  // namespace detail

/// Asks the daemon, and connects again when that was restarted; without one it runs gpuprobectl.
/// May be used by several threads at once.
class [[gnu::visibility("default")]] Client {
public:
    /// `where`: "system" for the usual socket, or the path of one. Throws Failure.
    explicit Client(const std::string& where = "system") {
        ::gpuprobe_client* opened = nullptr;
        const int code = ::gpuprobe_open(&opened, where == "system" ? nullptr : where.c_str(), 0);
        client_.reset(opened);
        if (code < 0)
            throw detail::failure_of(code == -EINVAL ? -ECONNREFUSED : code, detail::Document{""});
    }

    /// The backend that `consumer` should use here; nullopt when nothing will do. Throws Failure:
    /// UnknownConsumer, InvalidRequest, Unavailable.
    std::optional<Choice> select(const std::string& consumer, const Request& request = {}) {
        auto choice = explain(consumer, request);
        if (choice.backend.empty())
            return std::nullopt;
        return choice;
    }

    /// The same with what became of each candidate, also when nothing will do: the backend is then
    /// empty. Throws Failure as select() does.
    Choice explain(const std::string& consumer, const Request& request = {}) {
        char* json = nullptr;
        const int code = ::gpuprobe_select(client_.get(), consumer.c_str(),
                                           detail::json_of(request).c_str(), &json);
        const auto document = taken(json);
        if (code < 0 && code != -ENODATA)
            throw detail::failure_of(code, document);
        const std::string root = code < 0 ? "/error" : "";
        return {
            .backend = document.word(root + "/backend"),
            .gpus = document.words(root + "/gpus"),
            .environment = document.map(root + "/environment"),
            .answers = document.map(root + "/answers"),
            .messages = document.words(root + "/messages"),
            .summary = document.word(root + "/decision"),
            .generation = std::strtoull(document.word(root + "/generation").c_str(), nullptr, 10),
            .candidates = detail::candidates_in(document, root + "/candidates")};
    }

    /// The report as JSON (data/schema/report.schema.json). Throws Failure.
    std::string describe() {
        char* json = nullptr;
        const int code = ::gpuprobe_describe(client_.get(), &json);
        const auto document = taken(json);
        if (code < 0)
            throw detail::failure_of(code, document);
        return document.text();
    }

private:
    struct Close {
        void operator()(::gpuprobe_client* client) const { ::gpuprobe_close(client); }
    };
    static detail::Document taken(char* json) {
        const std::unique_ptr<char, void (*)(char*)> owner{json, ::gpuprobe_free};
        return detail::Document{json ? json : ""};
    }

    std::unique_ptr<::gpuprobe_client, Close> client_ = {};
};

}  // namespace gpuprobe::api
