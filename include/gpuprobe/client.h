// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
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

/// A C++ client of gpuprobe, based on the library of gpuprobe.h. Link with -lgpuprobe; the rest is
/// in this header.
namespace gpuprobe::api {

/// An error: the request was refused, or there is no reply.
class [[gnu::visibility("default")]] Failure : public std::runtime_error {
public:
    Failure(std::string name, const std::string& text)
        : std::runtime_error{text}, name_{std::move(name)} {}
    /// Name of the error, as on D-Bus: "org.gpuprobe.GpuProbe1.Error.UnknownApplication".
    [[nodiscard]] const std::string& name() const {
        return name_;
    }

private:
    std::string name_;
};

/// Information about the application for a selection. docs/applications.md, "The request", explains
/// each key.
struct Request {
    /// backends compiled into the application; absent: any
    std::optional<std::vector<std::string>> built = {};
    std::vector<std::string> prefer = {};
    std::vector<std::string> only = {};
    std::vector<std::string> deny = {};
    std::vector<std::string> gpus = {};     ///< ids of GPUs
    std::vector<std::string> require = {};  ///< predicates: "vulkan>=1.2"
    std::optional<std::string> backend = {};
    std::optional<std::uint64_t> min_memory = {};  ///< bytes, on each GPU
    std::optional<bool> strict = {};
};

/// One backend on one GPU, or without a GPU, and the result of checking it.
struct Candidate {
    std::string backend = {};
    std::optional<std::string> gpu = {};
    std::string verdict = {};               ///< "accepted", "rejected" or "unknown"
    std::vector<std::string> reasons = {};  ///< codes, see docs/reasons.md
};

/// The result of select(): the backend to use.
struct Choice {
    std::string backend = {};            ///< the application's name for it
    std::vector<std::string> gpus = {};  ///< ids, best first; empty for the CPU
    std::map<std::string, std::string> environment = {};
    /// further values from the application's profile
    std::map<std::string, std::string> answers = {};
    std::vector<std::string> messages = {};  ///< the application's own texts
    std::string summary = {};                ///< "requested=auto detected=[cuda,cpu] selected=cuda"
    std::uint64_t generation = 0;
    std::vector<Candidate> candidates = {};
};

/// Information about an installation for a recommendation. docs/variants.md explains each key.
struct RecommendRequest {
    std::vector<std::string> prefer = {};
    std::vector<std::string> only = {};
    /// patterns of variants to leave out, for example after a failure: "family:cuda"
    std::vector<std::string> exclude = {};
    std::optional<std::uint64_t> need_mib = {};  ///< MiB, on each GPU
    std::optional<bool> require_verified = {};
};

/// The result of recommend(): the variant to install.
struct Recommendation {
    std::string status = {};  ///< explains a missing variant
    std::optional<std::string> variant = {};
    std::string verdict = {};                  ///< of the variant, as in Candidate
    std::optional<std::string> artifact = {};  ///< the manifest's information about it, as JSON
    std::map<std::string, std::string> environment = {};
    std::vector<std::string> gpus = {};      ///< ids
    std::vector<std::string> fallback = {};  ///< variants to try next, in this order
    std::optional<std::string> hint = {};
    std::uint64_t generation = 0;
};

/// A reason why a GPU is not used, and a remedy.
struct Finding {
    std::string id = {};
    std::string severity = {};  ///< "ok", "info", "warning" or "error"
    std::optional<std::string> gpu = {};
    std::string sentence = {};
    std::optional<std::string> fix = {};
    std::vector<std::string> commands = {};  ///< commands that carry out the fix
};

/// The state of the report at one moment.
struct Change {
    std::uint64_t generation = 0;
    std::string state = {};
};

namespace detail {

/// A view of JSON text, read with the library's functions. Each function reads the text once,
/// regardless of the number of items.
class Json {
public:
    explicit Json(const char* text) : text_{text} {}

    [[nodiscard]] std::optional<std::string> value(const std::string& pointer) const {
        return taken(::gpuprobe_value(text_, pointer.c_str()));
    }
    [[nodiscard]] std::string word(const std::string& pointer) const {
        return value(pointer).value_or("");
    }
    [[nodiscard]] std::uint64_t number(const std::string& pointer) const {
        return std::strtoull(word(pointer).c_str(), nullptr, 10);
    }
    /// Calls `take` for each item of an array or member of an object, with the member's key.
    template <class Take>
    void each(const std::string& pointer, const Take& take) const {
        const char* at = nullptr;
        char* key = nullptr;
        while (const char* item = ::gpuprobe_each(text_, pointer.c_str(), &at, &key)) {
            const auto name = taken(key);
            take(Json{item}, name);
        }
    }
    [[nodiscard]] std::vector<std::string> words(const std::string& pointer,
                                                 const std::string& member = "") const {
        std::vector<std::string> words;
        each(pointer, [&](const Json& item, const auto&) { words.push_back(item.word(member)); });
        return words;
    }
    [[nodiscard]] std::map<std::string, std::string> map(const std::string& pointer) const {
        std::map<std::string, std::string> map;
        each(pointer, [&](const Json& item, const auto& key) {
            if (key)
                map.emplace(*key, item.word(""));
        });
        return map;
    }

private:
    static std::optional<std::string> taken(char* text) {
        const std::unique_ptr<char, void (*)(char*)> owner{text, ::gpuprobe_free};
        return text ? std::optional<std::string>{text} : std::nullopt;
    }

    const char* text_;
};

/// A reply, which owns its text.
class Document {
public:
    explicit Document(std::string text) : text_{std::move(text)} {}

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] Json json() const { return Json{text_.c_str()}; }

private:
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

inline std::string json_of(const std::string& word) {
    return quoted(word);
}

inline std::string json_of(std::uint64_t number) {
    return std::to_string(number);
}

inline std::string json_of(bool truth) {
    return truth ? "true" : "false";
}

/// Builds a JSON object from the members that the caller has set.
class Object {
public:
    template <class Value>
    Object& add(const char* key, const std::optional<Value>& value) {
        if (value)
            json_.append(json_.size() > 1 ? "," : "")
                .append(quoted(key))
                .append(":")
                .append(json_of(*value));
        return *this;
    }
    Object& add(const char* key, const std::vector<std::string>& words) {
        return add(key, words.empty() ? std::nullopt : std::optional{words});
    }
    [[nodiscard]] std::string text() const { return json_ + "}"; }

private:
    std::string json_ = "{";
};

inline std::string json_of(const Request& request) {
    return Object{}
        .add("built", request.built)
        .add("prefer", request.prefer)
        .add("only", request.only)
        .add("deny", request.deny)
        .add("gpus", request.gpus)
        .add("require", request.require)
        .add("backend", request.backend)
        .add("min-memory", request.min_memory)
        .add("strict", request.strict)
        .text();
}

inline std::string json_of(const RecommendRequest& request) {
    return Object{}
        .add("prefer", request.prefer)
        .add("only", request.only)
        .add("exclude", request.exclude)
        .add("need-mib", request.need_mib)
        .add("require-verified", request.require_verified)
        .text();
}

inline std::vector<Candidate> candidates_in(const Json& json, const std::string& pointer) {
    std::vector<Candidate> candidates;
    json.each(pointer, [&](const Json& item, const auto&) {
        candidates.push_back({.backend = item.word("/backend"),
                              .gpu = item.value("/gpu"),
                              .verdict = item.word("/verdict"),
                              .reasons = item.words("/reasons", "/code")});
    });
    return candidates;
}

inline Failure failure_of(int code, const Document& document) {
    const auto json = document.json();
    const auto name = json.value("/error/name");
    if (name)
        return Failure{*name, json.word("/error/message")};
    const bool is_absent = code == -ECONNREFUSED || code == -ECONNRESET || code == -ETIMEDOUT;
    return Failure{
        std::string{"org.gpuprobe.GpuProbe1.Error."} + (is_absent ? "Unavailable" : "Internal"),
        std::strerror(-code)};
}

}  // namespace detail

/// A client of the daemon. It reconnects if the daemon was restarted, and runs gpuprobectl if there
/// is no daemon. Thread-safe.
class [[gnu::visibility("default")]] Client {
public:
    /// `where`: "system" for the default socket, or a path. `flags`: GPUPROBE_DAEMON_ONLY or 0.
    /// Throws Failure.
    explicit Client(const std::string& where = "system", unsigned flags = 0) {
        ::gpuprobe_client* opened = nullptr;
        const int code =
            ::gpuprobe_open(&opened, where == "system" ? nullptr : where.c_str(), flags);
        client_.reset(opened);
        if (code < 0)
            throw detail::failure_of(code == -EINVAL ? -ECONNREFUSED : code, detail::Document{""});
    }

    /// Returns the backend that the application `application` should use on this machine, or
    /// nullopt if none is suitable. Throws Failure: UnknownApplication, InvalidRequest,
    /// Unavailable.
    std::optional<Choice> select(const std::string& application, const Request& request = {}) {
        auto choice = explain(application, request);
        if (choice.backend.empty())
            return std::nullopt;
        return choice;
    }

    /// The same, with the result for each candidate, even if no backend is suitable (`backend` is
    /// empty then). Throws Failure like select().
    Choice explain(const std::string& application, const Request& request = {}) {
        char* text = nullptr;
        const int code = ::gpuprobe_select(client_.get(), application.c_str(),
                                           detail::json_of(request).c_str(), &text);
        const auto document = taken(text);
        if (code < 0 && code != -ENODATA)
            throw detail::failure_of(code, document);
        const std::string root = code < 0 ? "/error" : "";
        const auto json = document.json();
        return {.backend = json.word(root + "/backend"),
                .gpus = json.words(root + "/gpus"),
                .environment = json.map(root + "/environment"),
                .answers = json.map(root + "/answers"),
                .messages = json.words(root + "/messages"),
                .summary = json.word(root + "/decision"),
                .generation = json.number(root + "/generation"),
                .candidates = detail::candidates_in(json, root + "/candidates")};
    }

    /// Returns the variant of an application to install on this machine. If there is no variant,
    /// `status` explains why. Throws Failure: NotFound, InvalidRequest, Unavailable.
    Recommendation recommend(const std::string& application, const RecommendRequest& request = {}) {
        const auto document = answer([&](char** json) {
            return ::gpuprobe_recommend(client_.get(), application.c_str(),
                                        detail::json_of(request).c_str(), json);
        });
        const auto json = document.json();
        return {.status = json.word("/status"),
                .variant = json.value("/variant"),
                .verdict = json.word("/verdict"),
                .artifact = json.value("/artifact"),
                .environment = json.map("/environment"),
                .gpus = json.words("/gpus"),
                .fallback = json.words("/fallback"),
                .hint = json.value("/hint"),
                .generation = json.number("/generation")};
    }

    /// Returns the findings of `gpuprobectl doctor`. Throws Failure.
    std::vector<Finding> diagnose() {
        const auto document =
            answer([&](char** json) { return ::gpuprobe_diagnose(client_.get(), json); });
        std::vector<Finding> findings;
        document.json().each("/findings", [&](const detail::Json& finding, const auto&) {
            findings.push_back({.id = finding.word("/id"),
                                .severity = finding.word("/severity"),
                                .gpu = finding.value("/gpu"),
                                .sentence = finding.word("/sentence"),
                                .fix = finding.value("/fix"),
                                .commands = finding.words("/commands")});
        });
        return findings;
    }

    /// Returns the report as JSON (share/gpuprobe/schema/report.schema.json). Throws Failure.
    std::string describe() {
        return answer([&](char** json) { return ::gpuprobe_describe(client_.get(), json); }).text();
    }

    /// Calls any method of the interface, such as "Plan", "ListGpus" or "Query". Parameters and
    /// reply are JSON, which gpuprobe_value() can read. Throws Failure.
    std::string call(const std::string& method, const std::string& parameters = "{}") {
        return answer([&](char** json) {
                   return ::gpuprobe_call(client_.get(), method.c_str(), parameters.c_str(), json);
               })
            .text();
    }

    /// Sets the time limit of a call. The default is 25 seconds; a negative value means no limit.
    /// Probes may take minutes.
    void set_timeout(std::chrono::milliseconds time) {
        ::gpuprobe_set_timeout(
            client_.get(), static_cast<int>(std::clamp<std::int64_t>(time.count(), -1, INT_MAX)));
    }

    /// Starts to follow the report. Returns a descriptor to poll for reading, which the client
    /// owns. Calling it again starts over. Throws Failure: Unavailable without a daemon.
    int watch() {
        const int descriptor = ::gpuprobe_watch(client_.get());
        if (descriptor < 0)
            throw detail::failure_of(descriptor, detail::Document{""});
        return descriptor;
    }

    /// Returns the next change without waiting, starting with the current state. Call it until it
    /// returns nullopt. Throws Failure: Unavailable if the daemon has left.
    std::optional<Change> next_change() {
        char* text = nullptr;
        const int code = ::gpuprobe_watch_next(client_.get(), &text);
        const auto document = taken(text);
        if (code < 0)
            throw detail::failure_of(code, document);
        if (code == 0)
            return std::nullopt;
        const auto json = document.json();
        return Change{.generation = json.number("/generation"), .state = json.word("/state")};
    }

private:
    struct Close {
        void operator()(::gpuprobe_client* client) const { ::gpuprobe_close(client); }
    };
    /// Throws Failure if the call failed.
    template <class Ask>
    static detail::Document answer(const Ask& ask) {
        char* json = nullptr;
        const int code = ask(&json);
        auto document = taken(json);
        if (code < 0)
            throw detail::failure_of(code, document);
        return document;
    }
    static detail::Document taken(char* json) {
        const std::unique_ptr<char, void (*)(char*)> owner{json, ::gpuprobe_free};
        return detail::Document{json ? json : ""};
    }

    std::unique_ptr<::gpuprobe_client, Close> client_ = {};
};

}  // namespace gpuprobe::api
