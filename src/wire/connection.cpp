// SPDX-License-Identifier: Apache-2.0
#include "wire/connection.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-id128.h>

#include "base/files.h"
#include "base/process.h"
#include "wire/varlink.h"

namespace gpuprobe::bus {
namespace {

/// The most values in a call: array elements, members of dictionary entries and contents of
/// variants, in all arguments together. No method needs more.
constexpr int kMaxElements = 4096;

/// Arrays and structs may each be nested 32 levels deep. Source: D-Bus Specification, "Valid
/// Signatures".
constexpr int kMaxNesting = 64;

bool is_container(char type) {
    return type == SD_BUS_TYPE_ARRAY || type == SD_BUS_TYPE_VARIANT || type == SD_BUS_TYPE_STRUCT ||
           type == SD_BUS_TYPE_DICT_ENTRY;
}

/// The minimum size that is counted for a value, because even an empty string needs memory.
constexpr std::size_t kLeastValue = 16;

/// The values in a message.
struct Contents {
    int values = 0;         ///< number of values
    std::size_t bytes = 0;  ///< approximate size
    /// The types and values, in at most `bytes` bytes; nullopt if they are longer than kMaxKey, or
    /// malformed.
    std::optional<std::string> key = std::string{};

    void add(std::string_view piece) {
        if (key && key->size() + piece.size() <= Connection::kMaxKey.count)
            key->append(piece);
        else
            key.reset();
    }
};

/// Adds a value that isn't a container to `found`. Returns false if the message is malformed.
bool count_basic(sd_bus_message* message, char type, Contents& found) {
    found.bytes += kLeastValue;
    if (type == SD_BUS_TYPE_STRING || type == SD_BUS_TYPE_OBJECT_PATH ||
        type == SD_BUS_TYPE_SIGNATURE) {
        const char* text = nullptr;
        if (sd_bus_message_read_basic(message, type, &text) < 0)
            return false;
        const auto length = std::strlen(text);
        found.bytes += length;
        found.add({text, length + 1});
        return true;
    }
    std::uint64_t bits = 0;  // all types fit; shorter types leave the other bytes 0
    if (sd_bus_message_read_basic(message, type, &bits) < 0)
        return false;
    found.add({reinterpret_cast<const char*>(&bits), sizeof bits});
    return true;
}

/// Adds the remaining contents of the current container to `found`. Returns false if there are more
/// than kMaxElements values. Stops early at a malformed value, which the next reader reports.
// NOLINTNEXTLINE(misc-no-recursion): as deep as kMaxNesting
bool count(sd_bus_message* message, Contents& found, int nesting) {
    char type = 0;
    const char* contents = nullptr;
    const auto stop = [&found] {
        found.key.reset();
        return true;
    };
    int more = 0;
    while ((more = sd_bus_message_peek_type(message, &type, &contents)) > 0) {
        if (++found.values > kMaxElements || nesting > kMaxNesting)
            return false;
        found.add({&type, 1});
        if (!is_container(type)) {
            if (!count_basic(message, type, found))
                return stop();
            continue;
        }
        const auto length = std::strlen(contents);
        found.bytes += kLeastValue + length;
        found.add({contents, length + 1});
        if (sd_bus_message_enter_container(message, type, contents) < 0)
            return stop();
        if (!count(message, found, nesting + 1))
            return false;
        if (sd_bus_message_exit_container(message) < 0)
            return stop();
        found.add(")");
    }
    return more < 0 ? stop() : true;
}

/// Measures the body of a message; nullopt if it has more than kMaxElements values, or if it is
/// nested more deeply than the bus allows. Stops at the limit, and rewinds the message to its
/// start.
///
/// The check is necessary because sdbus-c++ makes a message of each variant before a method gets
/// its arguments. A call of 32 MiB, which a bus accepts, would take 2 GiB and twenty seconds.
std::optional<Contents> contents_of(sd_bus_message* message) {
    Contents found;
    const bool fits = count(message, found, 0);
    (void)sd_bus_message_rewind(message, 1);
    return fits ? std::optional{found} : std::nullopt;
}

/// Size of the send buffer. The contents of the buffer are sent before the next reply, and a busy
/// bus reads 2 KiB per connection and turn (dbus-daemon 1.14, dbus-transport-socket.c,
/// max_bytes_read_per_iteration). The default of sd-bus, 8 MiB, would delay replies too much.
constexpr int kSendBuffer = 32 * 1024;

/// Opens a connection to `where`, see Connection::open().
std::unique_ptr<sdbus::IConnection> connect(const std::string& where) {
    if (where == "system")
        return sdbus::createSystemBusConnection();
    if (where == "session")
        return sdbus::createSessionBusConnection();
    return sdbus::createSessionBusConnectionWithAddress(where);
}

/// Answers Peer.GetMachineId on machines without an id, such as containers. Without an id, sd-bus
/// returns an error not only for the call but for the whole turn of the loop. Both sd-bus and this
/// code read the id with the same function, which caches it. Sources: systemd,
/// src/libsystemd/sd-bus/sd-bus.c, process_message and process_builtin; sd_id128_get_machine(3),
/// "Errors".
int answer_without_id(sd_bus_message* message, void* /*data*/, sd_bus_error* /*problem*/) {
    sd_id128_t id;
    if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Peer", "GetMachineId") <= 0 ||
        sd_id128_get_machine(&id) >= 0)
        return 0;
    (void)sd_bus_reply_method_errorf(message, SD_BUS_ERROR_FILE_NOT_FOUND,
                                     "this machine has no machine id");  // the caller may be gone
    return 1;
}

int checked(int result) {
    if (result < 0)
        throw std::system_error{-result, std::generic_category(), "the connection to the bus"};
    return result;
}

PollWish poll_wish(sd_bus* bus) {
    std::uint64_t deadline = 0;
    (void)checked(sd_bus_get_timeout(bus, &deadline));
    const std::chrono::microseconds until{deadline == UINT64_MAX ? 0 : deadline};
    return {
        .fd = checked(sd_bus_get_fd(bus)),
        .events = static_cast<std::uint32_t>(checked(sd_bus_get_events(bus))),
        .deadline = deadline == UINT64_MAX ? std::nullopt : std::optional<MonotonicTime>{until}};
}

/// The sd-bus message inside a message of sdbus-c++, which offers no public access to it. The
/// result is borrowed.
sd_bus_message* raw_message(const sdbus::Message& message) {
    struct Opened : sdbus::Message {
        static void* of(const sdbus::Message& closed) { return closed.*(&Opened::msg_); }
    };
    return static_cast<sd_bus_message*>(Opened::of(message));
}

/// The sd-bus connection, for functions of sd-bus that sdbus-c++ does not offer.
sd_bus* raw_connection(sdbus::IConnection& connection) {
    const auto proxy = make_proxy(connection, "org.freedesktop.DBus", "/org/freedesktop/DBus");
#ifdef GPUPROBE_SDBUS_2
    const auto call = proxy->createMethodCall(sdbus::InterfaceName{"org.freedesktop.DBus.Peer"},
                                              sdbus::MethodName{"Ping"});
#else
    const auto call = proxy->createMethodCall("org.freedesktop.DBus.Peer", "Ping");
#endif
    return sd_bus_message_get_bus(raw_message(call));
}

/// The signature of a variant's content, such as "a{sv}".
std::string signature_in(const sdbus::Variant& variant) {
#ifdef GPUPROBE_SDBUS_2
    const char* signature = variant.peekValueType();
    return signature != nullptr ? signature : "";
#else
    return variant.isEmpty() ? std::string{} : variant.peekValueType();
#endif
}

using Message = CHandle<sd_bus_message, sd_bus_message_unref>;

/// A message that stands in for a call from `sender` with this serial number, so that a reply can
/// be sent to the call. Keeping the original calls until they are refused would take a kilobyte
/// each. nullptr if memory is short.
Message call_like(sd_bus* bus, const std::string& sender, std::uint32_t serial) {
    sd_bus_message* made = nullptr;
    if (sd_bus_message_new_method_call(bus, &made, nullptr, "/", nullptr, "Refused") < 0)
        return nullptr;
    Message call{made};
    if (sd_bus_message_set_sender(made, sender.c_str()) < 0 ||
        sd_bus_message_seal(made, serial, 0) < 0)
        return nullptr;
    return call;
}

/// The property write in a message; nullopt for any other message. Rewinds the message to its
/// start.
std::optional<PropertyWrite> write_in(sd_bus_message* message) {
    if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Set") <= 0 ||
        sd_bus_message_has_signature(message, "ssv") <= 0)
        return std::nullopt;
    const char* interface = nullptr;
    const char* property = nullptr;
    const char* text = nullptr;
    const char* sender = sd_bus_message_get_sender(message);
    constexpr std::size_t kMaxWord = 64;
    const bool is_text =
        sd_bus_message_read(message, "ssv", &interface, &property, "s", &text) > 0 &&
        std::strlen(property) <= kMaxWord && std::strlen(text) <= kMaxWord;
    std::optional<PropertyWrite> write;
    if (is_text && sender)
        write = {.sender = sender, .interface = interface, .property = property, .text = text};
    (void)sd_bus_message_rewind(message, 1);
    return write;
}

}  // namespace

void Refusals::add(const std::string& sender, std::uint32_t serial, const Error& error) {
    // The queue is full: send this refusal without delay, so that memory stays limited.
    if (count_ >= kMax)
        return send_(sender, serial, error);
    auto& waiting = waiting_.try_emplace(sender, Sender{.error = error}).first->second;
    waiting.error = error;
    waiting.serials.push_back(serial);
    ++count_;
    if (!pause_)
        pause_ = loop_.after(kPause, [this] { send_some(); });
}

void Refusals::send_some() {
    pause_.reset();
    for (std::size_t left = kAtOnce; left > 0 && count_ > 0 && may_send_(); --left)
        send_next();
    if (count_ > 0)
        pause_ = loop_.after(kPause, [this] { send_some(); });
}

/// Refuses one call of the next sender, in turn.
void Refusals::send_next() {
    auto next = waiting_.upper_bound(last_);
    if (next == waiting_.end())
        next = waiting_.begin();
    // Continue after the sender that was served last, so that all senders get equal shares.
    last_ = next->first;
    const auto serial = next->second.serials.front();
    const auto error = next->second.error;
    next->second.serials.pop_front();
    --count_;
    if (next->second.serials.empty())
        waiting_.erase(next);
    send_(last_, serial, error);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& where,
                                                     EventLoop& loop) try {
    auto connection = std::unique_ptr<Connection>{new Connection{connect(where), loop}};
    // The send buffer belongs to the socket, so it can be set through the duplicate.
    const int own = ::fcntl(sd_bus_get_fd(connection->raw_), F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return errno_error("bus " + where, errno);
    connection->socket_.reset(own);
    (void)::setsockopt(own, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    return connection;
} catch (const sdbus::Error& problem) {
    return Error{ErrorCode::Unavailable, "bus " + where + ": " + problem.getMessage()};
}

Connection::Connection(std::unique_ptr<sdbus::IConnection> bus, EventLoop& loop)
    : bus_{std::move(bus)},
      raw_{raw_connection(*bus_)},
      loop_{loop},
      refusals_{loop,
                [this](const std::string& sender, std::uint32_t serial, const Error& error) {
                    refuse(sender, serial, error);
                },
                [this] { return !congested(); }} {
    // Filters are removed together with the connection. Filters run before any other handler; the
    // filter that was added last runs first.
    for (const auto filter : {take_write, answer_without_id, refuse_too_much, refuse_unadmitted})
        (void)sd_bus_add_filter(raw_, nullptr, filter, this);
}

/// sdbus-c++ flushes when it closes the connection, which takes minutes if the bus is flooded.
/// Without a flush, clients that wait for a reply get an error from the bus.
Connection::~Connection() {
    if (congested())
        sd_bus_close(raw_);
}

// The following functions are filters for sd-bus, which return 1 if they have handled the message,
// and 0 to pass the message on.
int Connection::refuse_too_much(sd_bus_message* message, void* self, sd_bus_error* /*problem*/) {
    if (sd_bus_message_is_method_call(message, nullptr, nullptr) <= 0)
        return 0;
    auto contents = contents_of(message);
    auto& connection = *static_cast<Connection*>(self);
    connection.call_size_ = contents ? contents->bytes : 0;
    connection.call_key_ = contents ? std::move(contents->key) : std::nullopt;
    if (contents && contents->bytes > kMaxCall.count) {
        (void)sd_bus_reply_method_errorf(message, error_name(ErrorCode::TooLarge).c_str(),
                                         "a call is larger than 2 MiB");
        return 1;
    }
    if (contents)
        return 0;
    (void)sd_bus_reply_method_errorf(message, error_name(ErrorCode::InvalidRequest).c_str(),
                                     "over %d values in one call", kMaxElements);
    return 1;
}

int Connection::take_write(sd_bus_message* message, void* self, sd_bus_error* /*problem*/) {
    auto& connection = *static_cast<Connection*>(self);
    const auto write = connection.decide_write_ ? write_in(message) : std::nullopt;
    if (!write)
        return 0;
    // Keeps the call alive for a reply that may come later.
    const std::shared_ptr<sd_bus_message> call{sd_bus_message_ref(message), sd_bus_message_unref};
    const bool is_taken = connection.decide_write_(*write, [&connection, call](const Status& done) {
        if (done)
            (void)sd_bus_reply_method_return(call.get(), nullptr);
        else
            (void)sd_bus_reply_method_errorf(call.get(),
                                             done.error().code == ErrorCode::InvalidRequest
                                                 ? SD_BUS_ERROR_INVALID_ARGS
                                                 : error_name(done.error().code).c_str(),
                                             "%s", done.error().text.c_str());
        connection.update();
    });
    return is_taken ? 1 : 0;
}

int Connection::refuse_unadmitted(sd_bus_message* message, void* self, sd_bus_error* /*problem*/) {
    auto& connection = *static_cast<Connection*>(self);
    const auto& admit = connection.admit_;
    const char* sender = sd_bus_message_get_sender(message);
    if (!admit || sender == nullptr ||
        sd_bus_message_is_method_call(message, nullptr, nullptr) <= 0)
        return 0;
    const auto admitted = admit(sender);
    if (admitted)
        return 0;
    std::uint64_t serial = 0;
    // If the caller expects no reply, the call is ignored.
    if (sd_bus_message_get_expect_reply(message) > 0 &&
        sd_bus_message_get_cookie(message, &serial) >= 0)
        connection.refusals_.add(sender, static_cast<std::uint32_t>(serial), admitted.error());
    return 1;
}

void Connection::refuse(const std::string& sender, std::uint32_t serial, const Error& error) {
    if (const auto call = call_like(raw_, sender, serial))
        (void)sd_bus_reply_method_errorf(call.get(), error_name(error.code).c_str(), "%s",
                                         error.text.c_str());  // the caller may be gone
    update();
}

void Connection::admit_by(std::function<Status(const std::string&)> admit,
                          std::function<void(Duration)> handled) {
    admit_ = std::move(admit);
    handled_ = std::move(handled);
}

// Input may already be in sd-bus's queue (then its deadline is in the past) or still in the socket.
bool Connection::has_input() const {
    bool has = false;
    (void)attempt([&] {
        const auto wish = poll_wish(raw_);
        pollfd input{.fd = wish.fd, .events = POLLIN, .revents = 0};
        has = (wish.deadline && *wish.deadline <= loop_.now()) ||
              (::poll(&input, 1, 0) > 0 && (input.revents & POLLIN) != 0);
    });
    return has;
}

// Waits only if the name has an owner, who may release it. If the bus denies the name, waiting does
// not help.
Status Connection::own_name(const std::string& name, Duration patience) {
    Status owned = Done{};
    (void)succeeds_within(patience, [&] {
        owned = request_name(name);
        return owned || owned.error().code != ErrorCode::Unavailable;
    });
    return owned;
}

Status Connection::request_name(const std::string& name) try {
    bus_->requestName(ServiceName{name});
    return Done{};
} catch (const sdbus::Error& problem) {
    // sd_bus_request_name(3) returns EEXIST for an owned name and EACCES for a denied name.
    // sdbus-c++ converts these to org.freedesktop.DBus.Error.FileExists and AccessDenied.
    const std::string& kind = problem.getName();
    const bool denied = kind.ends_with(".AccessDenied");
    return Error{denied ? ErrorCode::NotAuthorized : ErrorCode::Unavailable,
                 "bus name " + name + ": " +
                     (denied ? "the bus policy does not let this user own it"
                             : std::string{problem.getMessage()})};
}

void Connection::start(std::function<void(const std::string&)> lost) {
    lost_ = std::move(lost);
    update();
}

void Connection::step() {
    const auto start = loop_.now();
    has_read_ = true;
    // Start the timer with the first message after a pause.
    if (used_ && !use_)
        use_ = loop_.after(kUse, [this] {
            use_.reset();
            used_();
        });
    if (turn_)
        turn_();
    is_stepping_ = true;
    try {
        // Limit the turn by messages and by time, because sources of higher priority may be
        // waiting.
        for (int left = kMessagesPerTurn; left > 0 && loop_.now() - start < kTurn; --left)
            if (!handle_one())
                break;
    } catch (const std::exception& problem) {
        is_stepping_ = false;
        return lose(problem.what());
    }
    is_stepping_ = false;
    update();
}

/// Handles one message. Returns false if the queue was empty.
bool Connection::handle_one() {
    const auto start = loop_.now();
    const bool handled = checked(sd_bus_process(raw_, nullptr)) > 0;
    if (handled_)
        handled_(loop_.now() - start);
    return handled;
}

// Sets the watch and the timer again after each change, because sd-bus may now have to write, or
// may have to be called at another time.
void Connection::update() {
    if (!lost_ || loss_ || is_stepping_)
        return;
    try {
        const auto wish = poll_wish(raw_);
        watch(wish);
        schedule(wish);
    } catch (const std::exception& problem) {
        return lose(problem.what());
    }
    // Report the end of congestion only once.
    if (std::exchange(was_congested_, congested()) && !was_congested_ && taken_)
        taken_();
}

void Connection::watch(const PollWish& wish) {
    if (ready_ && wish.events == watched_)
        return;
    watched_ = wish.events;
    ready_.reset();  // remove the old watch first: epoll accepts a descriptor only once
    ready_ = loop_.watch(socket_.get(), wish.events, EventLoop::Priority::Normal,
                         [this](std::uint32_t) { step(); });
}

void Connection::schedule(const PollWish& wish) {
    const auto now = loop_.now();
    // A deadline in the past means that messages are waiting in sd-bus's queue.
    const bool at_once = wish.deadline && *wish.deadline <= now;
    const auto at = at_once ? std::nullopt : wish.deadline;
    if (!wish.deadline) {
        due_.reset();
        due_at_.reset();
        return;
    }
    if (due_ && at == due_at_)
        return;
    due_at_ = at;
    const auto run = [this] {
        due_.reset();
        step();
    };
    due_ = at_once ? loop_.defer(run) : loop_.after(*at - now, run);
}

// sd-bus queues messages that the socket did not accept.
std::size_t Connection::untaken() const {
    std::uint64_t count = 0;
    return sd_bus_get_n_queued_write(raw_, &count) < 0 ? 0 : static_cast<std::size_t>(count);
}

void Connection::lose(const std::string& reason) {
    ready_.reset();
    due_.reset();
    // The call is deferred, because `lost` may destroy this object while its functions are still on
    // the stack.
    loss_ = loop_.defer([this, reason] {
        const auto notify = std::exchange(lost_, nullptr);
        if (notify)
            notify(reason);
    });
}

namespace {

constexpr const char* kDriver = "org.freedesktop.DBus";

/// Reads a reply of GetConnectionCredentials. Errors: NotAuthorized if the reply has no user. A
/// list of groups with an unexpected type is ignored.
Result<Credentials> credentials_from(const Dictionary& facts) try {
    const auto uid = facts.find("UnixUserID");
    if (uid == facts.end())
        return Error{ErrorCode::NotAuthorized, "the bus does not know the caller's user"};
    Credentials credentials{.uid = uid->second.get<std::uint32_t>()};
    if (const auto pid = facts.find("ProcessID");
        pid != facts.end() && signature_in(pid->second) == "u")
        credentials.pid = static_cast<pid_t>(pid->second.get<std::uint32_t>());
    const auto groups = facts.find("UnixGroupIDs");
    if (groups != facts.end() && signature_in(groups->second) == "au")
        credentials.groups = groups->second.get<std::vector<std::uint32_t>>();
    return credentials;
} catch (const sdbus::Error& problem) {
    return Error{ErrorCode::NotAuthorized, problem.getMessage()};
}

}  // namespace

Callers::Callers(sdbus::IConnection& connection)
    : bus_{make_proxy(connection, kDriver, "/org/freedesktop/DBus")} {
#ifndef GPUPROBE_SDBUS_2
    bus_->finishRegistration();
#endif
}

Callers::~Callers() = default;

const Credentials* Callers::known(const std::string& sender) {
    const auto known = place_.find(sender);
    if (known == place_.end())
        return nullptr;
    // The most recently used caller is moved to the front, because keep() drops the last caller.
    known_.splice(known_.begin(), known_, known->second);
    return &known->second->credentials;
}

std::size_t Callers::waiting(const std::string& sender) const {
    const auto asked = asked_.find(sender);
    return asked == asked_.end() ? 0 : asked->second.size();
}

std::size_t Callers::waiting() const {
    std::size_t count = 0;
    for (const auto& [sender, calls] : asked_)
        count += calls.size();
    return count;
}

void Callers::keep(const std::string& sender, const Credentials& credentials) {
    // A caller in very many groups would make the cache large.
    const bool is_large = credentials.groups && credentials.groups->size() > kMaxKnownGroups;
    if (is_large || known(sender))
        return;
    // Drop the caller who has been idle for longest.
    if (known_.size() >= kMaxKnown) {
        place_.erase(known_.back().sender);
        known_.pop_back();
    }
    known_.push_front({.sender = sender, .credentials = credentials});
    place_.emplace(known_.front().sender, known_.begin());
}

void Callers::credentials_of(const std::string& sender, Answer answer) {
    auto& waiting = asked_[sender];
    waiting.push_back(std::move(answer));
    // A query for this sender is already running.
    if (waiting.size() > 1)
        return;
    // The proxy, and with it this handler, is destroyed together with this object.
    const auto reply = [this, sender](ReplyError problem, const Dictionary& facts) {
        const auto credentials =
            problem ? Error{ErrorCode::NotAuthorized, "the bus does not know the caller"}
                    : credentials_from(facts);
        if (credentials)
            keep(sender, *credentials);
        answer_all(sender, credentials);
    };
    const bool asked = attempt([&] {
        bus_->callMethodAsync("GetConnectionCredentials")
            .onInterface(kDriver)
            .withArguments(sender)
            .uponReplyInvoke(reply);
    });
    if (!asked)
        answer_all(sender, Error{ErrorCode::Unavailable, "the bus does not answer"});
}

void Callers::answer_all(const std::string& sender, const Result<Credentials>& credentials) {
    // Extract first: an answer may start a new query for the same sender.
    const auto waiting = asked_.extract(sender);
    for (const auto& answer : waiting.mapped())
        (void)attempt([&] { answer(credentials); });
}

}  // namespace gpuprobe::bus
