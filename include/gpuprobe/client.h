// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <locale>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gpuprobe/gpuprobe.h>
#include <gpuprobe/interface.hpp>

/// A C++ client of gpuprobe, based on the C library that gpuprobe.h declares. Link with -lgpuprobe.
/// The client consists of this header and of interface.hpp, which defines the types of requests and
/// answers; a build of gpuprobe generates interface.hpp from the description of the interface.
/// Needs C++20.
namespace gpuprobe::api {

// Aliases for the answers, with the names that the documentation uses.
using Report = DescribeAnswer;
using Decision = SelectAnswer;
using Recommendation = RecommendAnswer;
using Plan = PlanAnswer;
using Diagnosis = DiagnoseAnswer;
using Change = SubscribeAnswer;

/// The exception for a call that was refused, or that got no valid reply.
class [[gnu::visibility("default")]] Failure : public std::runtime_error {
public:
    Failure(std::string name, const std::string& text)
        : std::runtime_error{text}, name_{std::move(name)} {}
    /// The D-Bus name of the error, such as "org.gpuprobe.GpuProbe1.Error.UnknownApplication".
    [[nodiscard]] const std::string& name() const {
        return name_;
    }

private:
    std::string name_;
};

/// The exception for a request that nothing on this machine satisfies. what() names the candidate
/// that comes closest.
class [[gnu::visibility("default")]] NoMatch : public Failure {
public:
    explicit NoMatch(NoMatchDetails details)
        : Failure{details.name, details.message}, details_{std::move(details)} {}
    /// All candidates, with the reasons against each candidate.
    [[nodiscard]] const std::vector<Candidate>& candidates() const {
        return details_.candidates;
    }
    /// All members of the error, including the application's own messages.
    [[nodiscard]] const NoMatchDetails& details() const {
        return details_;
    }

private:
    NoMatchDetails details_;
};

namespace detail {

using CText = std::unique_ptr<char, void (*)(char*)>;

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

inline Failure invalid(const std::string& why) {
    return {"org.gpuprobe.GpuProbe1.Error.Internal", "the answer is not valid: " + why};
}

/// Reads a JSON value. Ignores members that the record does not have; members that the JSON does
/// not contain keep their default value. Throws Failure if a value has the wrong type.
class Reader {
public:
    /// `name` is the name of the member that contains the value; error messages contain it.
    Reader(const char* json, const char* name)
        : json_{json + std::strspn(json, " \t\r\n")}, name_{name} {}

    void read(std::string& out) const {
        expect("\"");
        out = text();
    }
    void read(bool& out) const {
        expect("tf");
        out = *json_ == 't';
    }
    void read(double& out) const {
        expect("-0123456789");
        std::istringstream number{text()};
        number.imbue(std::locale::classic());
        if (!(number >> out))
            refuse();
    }
    template <std::integral Number>
    void read(Number& out) const {
        expect("-0123456789");
        const auto number = text();
        const char* const end = number.data() + number.size();
        const auto done = std::from_chars(number.data(), end, out);
        if (done.ec != std::errc{} || done.ptr != end)
            refuse();
    }
    void read(Json& out) const {
        out.text = *json_ == 'n' ? "null" : *json_ == '"' ? quoted(text()) : text();
    }
    template <class T>
    void read(std::optional<T>& out) const {
        out.reset();
        if (*json_ != 'n')
            read(out.emplace());
    }
    template <class T>
    void read(std::vector<T>& out) const {
        out.clear();
        each("[", [&](const char*, const char* item) {
            Reader{item, name_}.read(out.emplace_back());
        });
    }
    template <class T>
    void read(std::map<std::string, T>& out) const {
        each("{", [&](const char* key, const char* value) {
            if (key)
                Reader{value, name_}.read(out[key]);
        });
    }
    template <class Record>
    void read(Record& out) const {
        each("{", [&](const char* key, const char* value) {
            const auto visit = [key, value](const char* name, auto& member) {
                if (key && std::strcmp(key, name) == 0)
                    Reader{value, name}.read(member);
            };
            describe(visit, out);
        });
    }

private:
    /// Calls `take` for each member of an object, with its key and value, or for each item of an
    /// array, with null and the item.
    template <class Take>
    void each(const char* open, const Take& take) const {
        expect(open);
        const char* at = nullptr;
        char* key = nullptr;
        while (const char* value = ::gpuprobe_each(json_, "", &at, &key)) {
            const CText owner{key, ::gpuprobe_free};
            take(key, value);
        }
    }
    /// Returns the content of a string, or any other value as JSON.
    [[nodiscard]] std::string text() const {
        const CText value{::gpuprobe_value(json_, ""), ::gpuprobe_free};
        if (!value)
            refuse();
        return value.get();
    }
    void expect(const char* first_characters) const {
        if (*json_ == '\0' || !std::strchr(first_characters, *json_))
            refuse();
    }
    [[noreturn]] void refuse() const {
        throw invalid(std::string{"'"} + name_ + "' has the wrong type");
    }

    const char* json_;
    const char* name_;
};

template <class Record>
Record record_from(const std::string& json) {
    Record record;
    Reader{json.c_str(), "answer"}.read(record);
    return record;
}

/// Writes parameters as JSON, without the members that aren't set.
class Writer {
public:
    void put(const std::string& text) { json_ += quoted(text); }
    void put(bool truth) { json_ += truth ? "true" : "false"; }
    template <std::integral Number>
    void put(const Number& number) {
        json_ += std::to_string(number);
    }
    void put(const Json& value) { json_ += value.text; }
    void put(const OptionalList& list) { put(*list); }
    template <class T>
    void put(const std::optional<T>& maybe) {
        put(*maybe);
    }
    template <class T>
    void put(const std::vector<T>& items) {
        json_ += '[';
        for (const auto& item : items) {
            separate();
            put(item);
        }
        json_ += ']';
    }
    template <class T>
    void put(const std::map<std::string, T>& members) {
        json_ += '{';
        for (const auto& [key, member] : members)
            put_member(key.c_str(), member);
        json_ += '}';
    }
    template <class Record>
    void put(const Record& record) {
        json_ += '{';
        auto copy = record;
        const auto visit = [this](const char* key, const auto& member) {
            if (is_set(member))
                this->put_member(key, member);
        };
        describe(visit, copy);
        json_ += '}';
    }
    [[nodiscard]] const std::string& json() const { return json_; }

private:
    template <class T>
    static bool is_set(const T&) {
        return true;
    }
    static bool is_set(const OptionalList& list) { return list.has_value(); }
    template <class T>
    static bool is_set(const std::optional<T>& maybe) {
        return maybe.has_value();
    }
    template <class T>
    void put_member(const char* key, const T& member) {
        separate();
        json_.append(quoted(key)).append(":");
        put(member);
    }
    void separate() {
        if (json_.back() != '{' && json_.back() != '[')
            json_ += ',';
    }

    std::string json_ = {};
};

/// The reply to a request that nothing on this machine satisfies.
struct NoMatchReply {
    NoMatchDetails error = {};
};
template <class Visitor>
void describe(Visitor& visit, NoMatchReply& reply) {
    visit("error", reply.error);
}

/// Throws a Failure for a call. `code` is the value that the library's function returned; `reply`
/// may be empty. If there is no reply, `problem` is the errno that describes the failure; if
/// `problem` is 0, the errno is `-code`.
[[noreturn]] inline void fail(int code, const std::string& reply, int problem = 0) {
    if (code == -ENODATA)
        throw NoMatch{record_from<NoMatchReply>(reply).error};
    const CText name{::gpuprobe_value(reply.c_str(), "/error/name"), ::gpuprobe_free};
    const CText message{::gpuprobe_value(reply.c_str(), "/error/message"), ::gpuprobe_free};
    if (name)
        throw Failure{name.get(), message ? message.get() : ""};
    const bool is_absent = code == -ECONNREFUSED || code == -ECONNRESET || code == -ETIMEDOUT;
    const std::string why = std::strerror(problem != 0 ? problem : -code);
    if (!is_absent)
        throw Failure{"org.gpuprobe.GpuProbe1.Error.Internal", why};
    throw Failure{"org.gpuprobe.GpuProbe1.Error.Unavailable",
                  "neither the gpuprobe daemon nor gpuprobectl has answered (" + why +
                      "); install gpuprobe, or set GPUPROBE_PROGRAM to the path of gpuprobectl"};
}

}  // namespace detail

/// A client of the daemon. The client reconnects if the daemon was restarted, and runs gpuprobectl
/// if there is no daemon. The client is thread-safe. Every function throws Failure if there is no
/// valid reply; if there is no reply at all, the name() of the Failure ends with "Unavailable".
class [[gnu::visibility("default")]] Client {
public:
    /// `where` is "system" for the default socket, or the path of a socket. `flags` is
    /// GPUPROBE_DAEMON_ONLY or 0. Throws Failure.
    explicit Client(const std::string& where = "system", unsigned flags = 0) {
        ::gpuprobe_client* opened = nullptr;
        const int code =
            ::gpuprobe_open(&opened, where == "system" ? nullptr : where.c_str(), flags);
        // If the library could not connect, errno contains the reason.
        const int problem = code == -ECONNREFUSED ? errno : -code;
        client_.reset(opened);
        if (code < 0)
            detail::fail(code == -EINVAL ? -ECONNREFUSED : code, "", problem);
    }

    /// Selects the backend that the application should use on this machine. The decision always
    /// contains a backend. Throws NoMatch, or a Failure named UnknownApplication, InvalidRequest or
    /// NoSuchGpu.
    Decision select(const std::string& application = "default", const SelectRequest& request = {}) {
        auto decision = ask<Decision>(
            "Select", SelectParameters{.application = application, .request = request});
        if (!decision.backend)
            throw detail::invalid("it has no backend");
        return decision;
    }

    /// Recommends the variant of an application to install on this machine. `manifest` is the
    /// content of a manifest to use instead of the installed manifest. If no variant is suitable,
    /// `status` and the reasons in `candidates` explain why. Throws a Failure named
    /// UnknownApplication, NotFound, InvalidRequest or MalformedManifest.
    Recommendation recommend(const std::string& application, const RecommendRequest& request = {},
                             const std::optional<std::string>& manifest = {}) {
        return ask<Recommendation>(
            "Recommend", RecommendParameters{
                             .application = application, .manifest = manifest, .request = request});
    }

    /// Plans the memory for a model or for a number of bytes: plan({.need = 8ULL << 30U}). Throws a
    /// Failure named InvalidRequest or NoSuchGpu.
    Plan plan(const PlanParameters& parameters) {
        return ask<Plan>("Plan", parameters);
    }

    /// Finds out why GPUs aren't used, and how to fix the problems. `environment` contains the
    /// environment variables of the program that fails to use a GPU.
    Diagnosis doctor(const std::optional<std::map<std::string, std::string>>& environment = {}) {
        return ask<Diagnosis>("Diagnose", DiagnoseParameters{.environment = environment});
    }

    /// Returns whether each term, such as "driver>=550", is true for each of the GPUs. Throws a
    /// Failure named InvalidRequest or NoSuchGpu.
    QueryAnswer query(const std::vector<std::string>& terms, const OptionalList& gpus = {}) {
        return ask<QueryAnswer>("Query", QueryParameters{.terms = terms, .gpus = gpus});
    }

    /// Returns the report about the machine.
    Report describe() {
        return ask<Report>("Describe", Nothing{});
    }

    /// Returns all GPUs, the default GPU first.
    ListGpusAnswer gpus() {
        return ask<ListGpusAnswer>("ListGpus", Nothing{});
    }

    /// Returns the memory of a GPU in bytes, read at the time of the call. Throws a Failure named
    /// NoSuchGpu.
    GetMemoryAnswer memory(const std::string& gpu) {
        return ask<GetMemoryAnswer>("GetMemory", GetMemoryParameters{.gpu = gpu});
    }

    /// Reports whether an application worked with a choice, so that later decisions take the
    /// outcome into account. Throws a Failure named InvalidRequest.
    void report_outcome(const ReportOutcomeParameters& outcome) {
        ask<ReportOutcomeAnswer>("ReportOutcome", outcome);
    }

    /// Calls any method of the interface, such as "ListApplications". `Answer` and the type of
    /// `parameters` are types in interface.hpp. Throws Failure.
    template <class Answer, class Parameters>
    Answer ask(const std::string& method, const Parameters& parameters) {
        detail::Writer writer;
        writer.put(parameters);
        return detail::record_from<Answer>(call(method, writer.json()));
    }

    /// Like ask(), but the parameters and the reply are JSON, which gpuprobe_value() can read.
    /// Throws Failure.
    std::string call(const std::string& method, const std::string& parameters = "{}") {
        char* json = nullptr;
        const int code = ::gpuprobe_call(client_.get(), method.c_str(), parameters.c_str(), &json);
        auto reply = taken(json);
        if (code < 0)
            detail::fail(code, reply);
        return reply;
    }

    /// Sets the time limit of a call. The default is 25 seconds; a negative value means no limit.
    /// Probes may take minutes.
    void set_timeout(std::chrono::milliseconds time) {
        ::gpuprobe_set_timeout(
            client_.get(), static_cast<int>(std::clamp<std::int64_t>(time.count(), -1, INT_MAX)));
    }

    /// Starts to watch the report for changes. Returns a descriptor to poll for reading; the client
    /// owns the descriptor. A second call ends the current watch and starts a new one. Throws a
    /// Failure named Unavailable if neither the daemon nor gpuprobectl can be reached.
    int watch() {
        const int descriptor = ::gpuprobe_watch(client_.get());
        if (descriptor < 0)
            detail::fail(descriptor, "");
        return descriptor;
    }

    /// Returns the next change without waiting; the first call returns the current state. Call this
    /// function until it returns nullopt. Throws a Failure named Unavailable if the daemon has
    /// ended.
    std::optional<Change> next_change() {
        char* json = nullptr;
        const int code = ::gpuprobe_watch_next(client_.get(), &json);
        const auto reply = taken(json);
        if (code < 0)
            detail::fail(code, reply);
        return code == 0 ? std::nullopt : std::optional{detail::record_from<Change>(reply)};
    }

private:
    struct Close {
        void operator()(::gpuprobe_client* client) const { ::gpuprobe_close(client); }
    };
    struct Nothing {
        template <class Visitor>
        friend void describe(Visitor&, Nothing&) {}
    };
    static std::string taken(char* json) {
        const detail::CText owner{json, ::gpuprobe_free};
        return json ? json : "";
    }

    std::unique_ptr<::gpuprobe_client, Close> client_ = {};
};

}  // namespace gpuprobe::api
