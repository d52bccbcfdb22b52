// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// Asks gpuprobe's daemon over D-Bus. Link with -lgpuprobe; nothing but the standard library is in
/// this header.
namespace gpuprobe::api {

/// What the daemon refused, or why it could not be asked.
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

/// What only the caller knows. docs/profiles.md, "The request", says what each key means.
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

/// The answer to "which backend?".
struct Choice {
    std::string backend = {};            ///< the consumer's name of it
    std::vector<std::string> gpus = {};  ///< ids, best first; none for the CPU
    std::map<std::string, std::string> environment = {};
    std::map<std::string, std::string> answers = {};  ///< what else the consumer's profile answers
    std::vector<std::string> messages = {};           ///< the consumer's own texts
    std::string summary = {};  ///< "requested=auto detected=[cuda,cpu] selected=cuda"
    std::uint64_t generation = 0;
};

/// One connection. Calls wait for their answer; use it from one thread at a time.
class [[gnu::visibility("default")]] Client {
public:
    /// `where`: "system", "session" or a D-Bus address. Throws Failure when nobody answers.
    explicit Client(const std::string& where = "system");
    ~Client();
    Client(Client && other) noexcept;
    Client& operator=(Client&& other) noexcept;

    /// The backend that `consumer` should use here; nullopt when nothing will do. Throws Failure:
    /// UnknownConsumer, InvalidRequest, Unavailable.
    std::optional<Choice> select(const std::string& consumer, const Request& request = {});

    /// The report as JSON (data/schema/report.schema.json). Throws Failure.
    std::string describe();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::api
