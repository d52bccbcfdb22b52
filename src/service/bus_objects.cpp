// SPDX-License-Identifier: Apache-2.0
#include "service/bus_objects.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/value.h"
#include "base/version.h"
#include "calls/requests.h"
#include "explain/reason_words.h"
#include "explain/report_text.h"
#include "policy/environment.h"
#include "policy/gpu_selection.h"
#include "report/access.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "service/daemon_process.h"

namespace gpuprobe::inline service {

// Calls ------------------------------------------------------------------------------------------

namespace {

/// Parses a list of arguments: "application:s request:a{sv}" has two.
std::vector<bus::BusArgument> arguments_of(std::string_view spelling) {
    std::vector<bus::BusArgument> arguments;
    for (const auto word : split(spelling, ' '))
        if (const auto colon = word.find(':'); colon != std::string_view::npos)
            arguments.push_back({.name = std::string{word.substr(0, colon)},
                                 .signature = std::string{word.substr(colon + 1)}});
    return arguments;
}

/// Whether `words`, a list separated by spaces, contains the word.
bool contains_word(std::string_view words, std::string_view word) {
    const auto all = split(words, ' ');
    return std::ranges::find(all, word) != all.end();
}

/// Longer strings aren't sent while the bus is slow, because they would make it even slower.
constexpr std::size_t kLargeText = kib(32).count;

/// The payer for calls whose sender isn't identified yet: all such senders together.
constexpr Payer kUnknownPayer{.id = static_cast<uid_t>(-1)};
/// Calls up to this size aren't charged before the sender is known; only their number is limited.
constexpr Bytes kSmallCall = kib(4);

}  // namespace

std::vector<bus::BusMethod> bus_methods_of(bool is_of_gpu) {
    std::vector<bus::BusMethod> methods;
    for (const auto& row : bus_methods())
        if (row.form.is_of_gpu == is_of_gpu)
            methods.push_back({.name = std::string{row.form.member},
                               .in = arguments_of(row.form.in),
                               .out = arguments_of(row.form.out)});
    return methods;
}

BusCalls::BusCalls(bus::Connection& connection,
                   EventLoop& loop,
                   CallServer& server,
                   bus::Callers& callers,
                   Authority& authority,
                   const GpuObjects& gpus)
    : connection_{connection},
      server_{server},
      callers_{callers},
      authority_{authority},
      gpus_{gpus},
      queue_{loop, [&connection] { connection.update(); },
             [&connection] { return connection.has_input(); },
             [&connection] { return connection.untaken(); }},
      self_{std::make_shared<BusCalls*>(this)} {
    connection.admit_by([this](const std::string& sender) { return admit(sender); },
                        [this](Duration time) { queue_.spent(time); });
    connection.on_taken([this] { queue_.go_on(); });
    connection.before_reading([this] { queue_.before_reading(); });
}

BusCalls::~BusCalls() {
    connection_.admit_by({}, {});
    connection_.on_taken({});
    connection_.before_reading({});
    self_.reset();
    server_.answers().clear();  // cached answers contain object paths of this connection
    for (const auto& [number, pending] : pending_)
        if (const auto reply = pending.lock())
            reply->fail(Error{ErrorCode::Cancelled, "the operation was canceled"});
}

Status BusCalls::admit(const std::string& sender) {
    if (const auto* known = callers_.known(sender))
        return queue_.admit(server_.admission().payers.of(known->uid));
    // The sender isn't identified yet, so only the number of calls can be limited.
    const auto waiting = callers_.waiting(sender);
    if (waiting >= kMaxUnknown && callers_.waiting() >= kMaxUnknownOfAll)
        return Error{ErrorCode::TooManyRequests,
                     "too many calls before the bus identified the caller"};
    // Request the identity now; calls that need the identity later wait for the same answer. The
    // request is also a message that the bus has not accepted, so it comes before
    // admit_unidentified(), which must count only answers.
    if (waiting == 0)
        callers_.credentials_of(sender, [](const Result<bus::Credentials>&) {});
    return queue_.admit_unidentified();
}

/// The row of a method. The method was registered on the objects, so the table has a row for the
/// method. Types are created at the first call, because usually only a few methods are called.
const BusCalls::Row& BusCalls::row_of(const std::string& member, bool is_of_gpu) {
    const auto [known, is_new] = rows_.try_emplace({member, is_of_gpu});
    auto& row = known->second;
    if (!is_new)
        return row;
    for (auto& method : bus_methods())
        if (method.form.member == member && method.form.is_of_gpu == is_of_gpu)
            row.method = std::move(method);
    row.parameters = row.method.parameters(row.types);
    row.in = arguments_of(row.method.form.in);
    row.out = arguments_of(row.method.form.out);
    // JSON is sent unchanged, and needs no types.
    if (std::ranges::find(row.out, "json", &bus::BusArgument::name) == row.out.end())
        row.answer = row.types.defined(MemberType::Kind::Record, "=" + member,
                                       [&row](TypeDefinition& definition) {
                                           definition.members = row.method.result(row.types);
                                       });
    return row;
}

/// Reads the parameters of a call, with their names from the table. Errors: InvalidRequest.
Result<Value> BusCalls::parameters_of(const Row& row,
                                      sd_bus_message* call,
                                      const std::string& gpu) const {
    Value parameters{Value::Object{}};
    // Names of parameters have underscores; on D-Bus they may also have dashes.
    const auto named = [&row](std::string_view key) -> std::optional<std::string> {
        std::string name{key};
        std::ranges::replace(name, '-', '_');
        const auto known = std::ranges::find(row.parameters, name, &TypedMember::key);
        return known == row.parameters.end() ? std::nullopt : std::optional{name};
    };
    for (const auto& argument : row.in) {
        const bool are_options = argument.name == "options";
        auto value = bus::read_argument(
            call, are_options ? [&named](std::string_view key) { return named(key).has_value(); }
                              : std::function<bool(std::string_view)>{});
        if (!value)
            return value.error();
        if (named(argument.name)) {
            parameters[argument.name] = std::move(*value);
            continue;
        }
        for (const auto& member : *value->as_object()) {
            const auto name = named(member.key).value_or(member.key);
            if (parameters.find(name))
                return Error{ErrorCode::InvalidRequest, member.key + ": given twice"};
            parameters[name] = member.value;
        }
    }
    name_by_id(parameters);
    if (row.method.form.is_of_gpu)
        parameters["gpu"] = Value{gpu};
    return parameters;
}

/// Replaces the object paths of GPUs with ids. An unknown path is kept, so that the method reports
/// the error.
// NOLINTNEXTLINE(misc-no-recursion): as deep as bus::kMaxReceivedDepth
void BusCalls::name_by_id(Value& parameters) const {
    const auto* path = parameters.as_string();
    if (const auto id =
            path && path->starts_with(bus::kGpuPath) ? gpus_.id_of(*path) : std::nullopt)
        parameters = Value{*id};
    else if (auto* items = parameters.as_array())
        std::ranges::for_each(*items, [this](Value& item) { name_by_id(item); });
    else if (auto* members = parameters.as_object())
        std::ranges::for_each(*members, [this](auto& member) { name_by_id(member.value); });
}

/// `gpu` is a copy, because its object may be destroyed in the meantime.
void BusCalls::serve(sd_bus_message* call, std::string gpu) {
    const char* member = sd_bus_message_get_member(call);
    const char* sender = sd_bus_message_get_sender(call);
    const auto& row = row_of(member, !gpu.empty());
    const auto number = ++last_call_;
    const auto reply = std::make_shared<bus::BusReply>(call, [weak = std::weak_ptr{self_}, number] {
        if (const auto self = weak.lock()) {
            (*self)->pending_.erase(number);
            (*self)->connection_.update();
        }
    });
    pending_.emplace(number, reply);
    try {
        (void)server_.refresh();
        const Asked asked{.row = &row, .reply = reply, .sender = sender ? sender : ""};
        auto question = question_of(row, gpu);
        if (!send_kept(asked, question))
            serve(asked, gpu, std::move(question));
    } catch (const std::exception& problem) {
        reply->fail(Error{ErrorCode::Internal, problem.what()});
    }
}

/// The key of the current call in the cache of answers; empty if its answer is not cached.
std::string BusCalls::question_of(const Row& row, const std::string& gpu) const {
    const auto& key = connection_.call_key();
    if (!key || row.method.keeping == Keeping::Never || row.out.front().signature == "h")
        return {};
    std::string question{row.method.form.member};
    question.append(1, '\0').append(gpu).append(1, '\0').append(*key);
    return question;
}

/// Sends the cached answer to a call. Returns false if there is none, or if the call has to wait
/// because its sender isn't known yet or other calls are waiting.
bool BusCalls::send_kept(const Asked& asked, const std::string& question) {
    const auto* caller = question.empty() ? nullptr : callers_.known(asked.sender);
    if (caller == nullptr || !queue_.is_free())
        return false;
    const auto* kept = server_.known({.uid = caller->uid, .groups = caller->groups}, question);
    if (kept == nullptr)
        return false;
    const auto body = std::get<std::shared_ptr<const bus::MessageBody>>(*kept);
    send(asked, *body, body->bytes());
    return true;
}

/// Reads the parameters, identifies the caller, and passes the call on to be answered.
void BusCalls::serve(Asked asked, const std::string& gpu, std::string question) {
    const auto& row = *asked.row;
    const auto reply = asked.reply;
    auto parameters = parameters_of(row, reply->call(), gpu);
    if (!parameters)
        return reply->fail(parameters.error());
    asked.explains = parameters->at("request").at("explain").as_bool() == true;
    const auto served = std::make_shared<ServedCall>();
    served->question = std::move(question);
    served->call = {.method = row.method.method,
                    .parameters = std::move(*parameters),
                    .wants_more = row.method.reports_progress,
                    .always_explains = false,
                    .wants_value = row.answer.kind == MemberType::Kind::Record};
    served->is_wanted = [reply] { return reply->is_open(); };
    served->ask = [&authority = authority_, asked](const std::vector<Action>& needs,
                                                   std::function<void(const Status&)> done) {
        auto* const call = asked.reply->call();
        authority.ask_for_all(
            Requester{.sender = asked.sender, .may_be_asked = bus::allows_questions(call)}, needs,
            std::move(done));
    };
    const std::weak_ptr weak{self_};
    served->send_kept = [weak, asked](const AnswerCache::Answer& kept) {
        const auto& body = *std::get<std::shared_ptr<const bus::MessageBody>>(kept);
        if (const auto self = weak.lock())
            (*self)->send(asked, body, body.bytes());
    };
    served->heard = [weak, asked](const MethodAnswer& answer, const std::string& key) {
        if (const auto self = weak.lock())
            (*self)->heard(asked, answer, key);
    };
    identify(asked.sender, {.served = served, .reply = reply, .size = connection_.call_size()});
}

/// Identifies the sender, and then serves the call when it is the sender's turn. The sender of a
/// call that is not small is charged for the call's memory until the call is answered.
void BusCalls::identify(const std::string& sender, const Held& held) {
    if (const auto* known = callers_.known(sender))
        return take_turn(bus::Credentials{*known}, held);
    if (held.size > kSmallCall.count) {
        auto share = server_.admission().memory.claim(kUnknownPayer, held.size, kTooMuchWaits);
        if (!share)
            return held.reply->fail(share.error());
        held.served->memory = std::move(share).value();
    }
    callers_.credentials_of(
        sender, [weak = std::weak_ptr{self_}, held](const Result<bus::Credentials>& credentials) {
            if (!credentials)
                held.reply->fail(credentials.error());
            else if (const auto self = weak.lock())
                (*self)->take_turn(*credentials, held);
        });
}

/// Serves a small call immediately if no call waits. Otherwise charges the call to its payer,
/// instead of any earlier claim, and queues it.
void BusCalls::take_turn(const bus::Credentials& caller, const Held& held) {
    held.served->call.uid = caller.uid;
    held.served->call.groups = caller.groups;
    held.served->memory = {};
    const bool is_small = held.size <= kSmallCall.count;
    if (is_small && queue_.is_free())
        return held.serve(server_);
    auto& admission = server_.admission();
    const auto payer = admission.payers.of(caller.uid);
    auto share = admission.memory.claim(payer, held.size, kTooMuchWaits);
    if (!share)
        return held.reply->fail(share.error());
    held.served->memory = std::move(share).value();
    queue_.wait(payer, [weak = std::weak_ptr{self_}, held, is_small] {
        if (is_small)
            held.served->memory = {};
        if (const auto self = weak.lock())
            held.serve((*self)->server_);
    });
}

/// An exception becomes an error reply.
void BusCalls::Held::serve(CallServer& server) const {
    try {
        server.serve(served);
    } catch (const std::exception& problem) {
        reply->fail(Error{ErrorCode::Internal, problem.what()});
    }
}

/// Sends an answer. If the answer is a string, `size` is charged to the receiver.
void BusCalls::send(const Asked& asked, const bus::MessageBody& body, std::size_t size) const {
    const auto& out = asked.row->out;
    if (!out.empty() && out.front().signature == "s") {
        if (size > kLargeText && connection_.congested())
            return asked.reply->fail({ErrorCode::TooManyRequests,
                                      "the bus is slow; try again later, or use DescribeFd"});
        const auto taken = server_.admission().text.take(asked.sender, Bytes{size});
        if (!taken)
            return asked.reply->fail(taken.error());
    }
    asked.reply->send(body);
}

/// Encodes and sends an answer, and caches it if possible.
void BusCalls::heard(const Asked& asked, const MethodAnswer& answer, const std::string& key) {
    if (answer.continues)
        return send_progress(asked, answer);
    // Errors of the Varlink service, which have no code, are about parameters.
    if (!answer.error.empty())
        return asked.reply->fail({answer.code.value_or(ErrorCode::InvalidRequest), answer.message});
    const auto& out = asked.row->out;
    if (!out.empty() && out.front().signature == "h")
        return send_file(asked, answer.document);
    const auto body = std::make_shared<const bus::MessageBody>(body_of(asked, answer));
    const bool is_whole = answer.document.size() <= InlineBudget::kMaxReply.count;
    if (!key.empty() && is_whole)
        server_.keep(key, body, body->bytes());
    send(asked, *body, std::max(body->bytes(), answer.document.size()));
}

/// Sends `text` in a sealed memory file.
void BusCalls::send_file(const Asked& asked, const std::string& text) const {
    const auto file = sealed_file("gpuprobe-report", text);
    if (!file)
        return asked.reply->fail(file.error());
    bus::MessageBody body;
    body.add_number('h', static_cast<std::uint64_t>(file->get()));
    asked.reply->send(body);
}

bus::MessageBody BusCalls::body_of(const Asked& asked, const MethodAnswer& answer) const {
    const auto& row = *asked.row;
    bus::MessageBody body;
    const bus::MessageWriter::PathOf path_of = [this](const std::string& id) {
        return gpus_.path_of(id);
    };
    bus::MessageWriter writer{body, row.types, path_of};
    for (const auto& [name, signature] : row.out) {
        if (name == "json") {
            writer.append(signature, Value{answer.document}, {});
        } else if (name == "answer") {
            Value shown{Value::Object{}};
            for (const auto& member : *answer.value.as_object())
                if (!(contains_word(row.method.form.optional, member.key) &&
                      bus::is_empty(member.value)) &&
                    (asked.explains || !contains_word(row.method.form.explained, member.key)))
                    shown.as_object()->push_back(member);
            writer.append(signature, shown, row.answer);
        } else {
            const auto& members = row.types.find(row.answer.name)->members;
            const auto type = std::ranges::find(members, name, &TypedMember::key);
            writer.append(signature, answer.value.at(name), type->type);
        }
    }
    return body;
}

/// Sends the signal Progress to the caller only.
void BusCalls::send_progress(const Asked& asked, const MethodAnswer& answer) const {
    if (!asked.reply->is_open() || connection_.congested())
        return;
    sd_bus_message* created = nullptr;
    auto* const bus = sd_bus_message_get_bus(asked.reply->call());
    if (sd_bus_message_new_signal(bus, &created, bus::kRootPath, kManagerInterface, "Progress") < 0)
        return;
    const std::shared_ptr<sd_bus_message> signal{created, sd_bus_message_unref};
    const std::string method{asked.row->method.form.member};
    const double share = answer.value.at("progress").as_double().value_or(0);
    (void)(sd_bus_message_set_destination(created, asked.sender.c_str()) >= 0 &&
           sd_bus_message_append(created, "sd", method.c_str(), share) >= 0 &&
           sd_bus_send(nullptr, created, nullptr) >= 0);
    connection_.update();
}

// Objects ----------------------------------------------------------------------------------------

namespace {

using Change = bus::BusProperty::Change;

constexpr std::size_t kMaxPathElement = 200;  // well below the limits for file names and bus names

/// The result of an API for a GPU. The facts are left out, because not all users may see all facts.
struct ApiAnswer {
    Outcome outcome = Outcome::Absent;
    std::vector<Reason> reasons = {};
};
RECORD_MEMBERS(ApiAnswer, outcome, reasons)

using BackendViews = std::map<std::string, BackendView>;
using ApiAnswers = std::map<std::string, ApiAnswer>;
using Partitions = std::map<std::string, Partition>;  // by id

/// Removes control characters. D-Bus has no null, so an unknown string is "".
Value shown(const std::optional<std::string>& text) {
    return Value{text ? scrubbed(*text) : std::string{}};
}

Value number(const std::optional<std::string>& hexadecimal) {
    return Value{hexadecimal ? parse_hex<std::uint32_t>(*hexadecimal).value_or(0) : 0U};
}

Value apis_of(const Gpu& gpu) {
    ApiAnswers answers;
    for (const auto& [api, view] : gpu.apis)
        answers.emplace(api, ApiAnswer{.outcome = view.outcome, .reasons = view.reasons});
    return to_value(answers);
}

/// The variables that restrict a program to this GPU, computed only from facts that all users may
/// read.
Value environment_of(const Gpu& gpu, const Report& open_to_all) {
    const auto* seen = find_gpu(open_to_all, gpu.id);
    return to_value(seen ? environment_for(open_to_all, *seen)
                         : std::map<std::string, std::string>{});
}

/// The GPU's partitions without their free memory, which changes all the time and must not cause
/// change signals.
Value partitions_of(const Gpu& gpu, const Report& open_to_all) {
    const auto* seen = find_gpu(open_to_all, gpu.id);
    Partitions partitions;
    for (auto partition : seen ? seen->partitions : std::vector<Partition>{}) {
        if (partition.memory)
            partition.memory->free.reset();
        const auto id = gpu.id + "/" + partition.name;
        partitions.emplace(id, std::move(partition));
    }
    return to_value(partitions);
}

/// A property of GPU objects, and the function that returns its value.
struct GpuProperty {
    bus::BusProperty property;
    Value (*value)(const Gpu& gpu, const Report& open_to_all);
};

const std::vector<GpuProperty>& gpu_rows() {
    static const auto pci = [](const Gpu& gpu) { return gpu.pci.value_or(PciInfo{}); };
    static const std::vector<GpuProperty> rows{
        {{"Id", "s", Change::Const}, [](const Gpu& gpu, const Report&) { return shown(gpu.id); }},
        {{"Kind", "s"}, [](const Gpu& gpu, const Report&) { return to_value(gpu.kind); }},
        {{"Vendor", "s"}, [](const Gpu& gpu, const Report&) { return shown(gpu.vendor); }},
        {{"Name", "s"}, [](const Gpu& gpu, const Report&) { return shown(gpu.name); }},
        {{"Title", "s"}, [](const Gpu& gpu, const Report&) { return shown(gpu_title(gpu)); }},
        {{"PciAddress", "s", Change::Const},
         [](const Gpu& gpu, const Report&) {
             const auto address = pci(gpu).address;
             return Value{address ? text_of(*address) : std::string{}};
         }},
        {{"VendorId", "u"},
         [](const Gpu& gpu, const Report&) { return number(pci(gpu).vendor_id); }},
        {{"DeviceId", "u"},
         [](const Gpu& gpu, const Report&) { return number(pci(gpu).device_id); }},
        {{"Driver", "s"}, [](const Gpu& gpu, const Report&) { return shown(gpu.driver.name); }},
        {{"MemoryTotal", "t"},
         [](const Gpu& gpu, const Report&) {
             return to_value(offered_memory(gpu.memory).value_or(Bytes{}));
         }},
        {{"Health", "s"}, [](const Gpu& gpu, const Report&) { return shown(gpu.health); }},
        // The messages in these two properties require an examination by the doctor, so signals do
        // not contain their values.
        {{"Backends", "a{sa{sv}}", Change::Invalidated},
         [](const Gpu& gpu, const Report&) { return to_value(gpu.backends); }},
        {{"Apis", "a{sa{sv}}", Change::Invalidated},
         [](const Gpu& gpu, const Report&) { return apis_of(gpu); }},
        {{"Environment", "a{ss}"}, environment_of},
        {{"Partitions", "a{oa{sv}}"}, partitions_of},
        // PowerState is read from sysfs whenever a client reads the property, because it changes
        // without an event.
        {{"PowerState", "s", Change::Silent},
         [](const Gpu&, const Report&) { return Value{std::string{}}; }},
    };
    return rows;
}

/// The types of the properties that are dictionaries, by name.
struct PropertyTypes {
    PropertyTypes()
        : backends{types.type_of(std::type_identity<BackendViews>{})},
          apis{types.type_of(std::type_identity<ApiAnswers>{})},
          partitions{types.type_of(std::type_identity<Partitions>{})} {}

    [[nodiscard]] MemberType of(std::string_view property) const {
        return property == "Backends"     ? backends
               : property == "Apis"       ? apis
               : property == "Partitions" ? partitions
                                          : MemberType{};
    }

    TypeTable types = {};
    MemberType backends;
    MemberType apis;
    MemberType partitions;
};

const PropertyTypes& property_types() {
    static const PropertyTypes types;
    return types;
}

const bus::BusInterface& gpu_interface() {
    static const bus::BusInterface interface {
        kGpuInterface, bus_methods_of(true), gpu_properties()
    };
    return interface;
}

const std::vector<bus::BusProperty>& manager_properties() {
    static const std::vector<bus::BusProperty> properties{{"Version", "s", Change::Const},
                                                          {"Features", "as", Change::Const},
                                                          {"Generation", "t"},
                                                          {"State", "s"},
                                                          {"DefaultGpu", "o"}};
    return properties;
}

const bus::BusInterface& manager_interface() {
    static const bus::BusInterface interface {
        kManagerInterface, bus_methods_of(false), manager_properties(), {
            {
                "Progress", {
                    {"method", "s"}, {
                        "share", "d"
                    }
                }
            }
        }
    };
    return interface;
}

std::size_t place_of(const std::vector<bus::BusProperty>& properties, std::string_view name) {
    const auto found = std::ranges::find(properties, name, &bus::BusProperty::name);
    return static_cast<std::size_t>(found - properties.begin());
}

/// The names of the properties whose changes are signaled and whose values differ.
std::vector<std::string> changed(const std::vector<bus::BusProperty>& properties,
                                 const std::vector<Value>& before,
                                 const std::vector<Value>& after) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < properties.size(); ++i) {
        const auto change = properties[i].change;
        const bool is_signaled = change == Change::Signaled || change == Change::Invalidated;
        if (is_signaled && before[i] != after[i])
            names.push_back(properties[i].name);
    }
    return names;
}

/// Adds messages to the reasons of one entry of Backends or Apis.
template <class T>
Value worded(const Value& entry, const ReasonPlace& place) {
    T record{};
    (void)read_value(entry,
                     record);  // can't fail: the entry was written from a record of this type
    ReasonWriter{[&place] { return place; }}.add_to(record);
    return to_value(record);
}

/// Whether the doctor's findings for this GPU have changed.
bool differ(const std::vector<Finding>& before,
            const std::vector<Finding>& after,
            const std::string& gpu) {
    const auto is_others = [&gpu](const Finding& finding) {
        return std::ranges::count(finding.gpus, gpu) == 0;
    };
    auto own_before = before;
    auto own_after = after;
    std::erase_if(own_before, is_others);
    std::erase_if(own_after, is_others);
    return own_before != own_after;
}

}  // namespace

Report open_to_all(const Report& report) {
    constexpr std::uint32_t kNobody = 65534;  // the usual uid and gid of the overflow user
    return as_seen_by(report, {.uid = kNobody, .groups = std::vector<std::uint32_t>{kNobody}});
}

const std::vector<bus::BusProperty>& gpu_properties() {
    static const auto properties = [] {
        std::vector<bus::BusProperty> list;
        for (const auto& row : gpu_rows())
            list.push_back(row.property);
        return list;
    }();
    return properties;
}

std::vector<Value> property_values(const Gpu& gpu, const Report& open_to_all) {
    std::vector<Value> values;
    for (const auto& row : gpu_rows())
        values.push_back(row.value(gpu, open_to_all));
    return values;
}

std::string path_element(std::string_view id) {
    std::string element{id.substr(0, kMaxPathElement)};
    const auto is_allowed = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    };
    std::ranges::replace_if(element, std::not_fn(is_allowed), '_');
    return element.empty() ? "_" : element;
}

std::string partition_path(const std::string& path, std::string_view name) {
    return path + "/" + path_element(name);
}

GpuObject::GpuObject(sd_bus* bus,
                     const std::string& path,
                     std::string id,
                     std::vector<Value> values,
                     GpuObjects& all,
                     const CallServer& server,
                     BusCalls& calls)
    : BusObject{bus, path, gpu_interface()},
      id_{std::move(id)},
      values_(std::move(values)),  // braces would make a list with one item
      all_{all},
      server_{server},
      calls_{calls} {}

void GpuObject::update(std::vector<Value> values, bool has_other_words) {
    auto names = changed(gpu_properties(), values_, values);
    if (has_other_words)
        for (const char* name : {"Backends", "Apis"})
            add_once(names, name);
    values_ = std::move(values);  // set before sending the signal, which contains the values
    signal_changes(names);
}

/// Adds the doctor's fixes to the entries of a property. The fixes are computed only when a client
/// reads the property.
Value GpuObject::with_words(std::string_view property, const Value& value) const {
    const bool are_backends = property == "Backends";
    Value::Object entries;
    for (const auto& [name, entry] : *value.as_object()) {
        const ReasonPlace place{.findings = &all_.findings(),
                                .gpu = id_,
                                .api = are_backends ? std::string{api_below(name)} : name};
        entries.push_back({.key = name,
                           .value = are_backends ? worded<BackendView>(entry, place)
                                                 : worded<ApiAnswer>(entry, place)});
    }
    return Value{std::move(entries)};
}

bus::MessageBody GpuObject::read(std::string_view property) {
    const auto place = place_of(gpu_properties(), property);
    const auto& types = property_types();
    const bus::MessageWriter::PathOf path_of = [this](const std::string& id) {
        return all_.path_of(id);
    };
    auto value = values_[place];
    if (property == "Backends" || property == "Apis")
        value = with_words(property, value);
    if (property == "PowerState") {
        const auto* gpu = find_gpu(server_.engine().report(), id_);
        if (!gpu)
            throw bus::sdbus_error(Error{ErrorCode::UnknownDevice, id_ + ": no longer exists"});
        value = Value{bus::bus_text(power_state(server_.files(), *gpu).value_or(""), Bytes{64})};
    }
    bus::MessageBody body;
    bus::MessageWriter{body, types.types, path_of}.append(gpu_properties()[place].signature, value,
                                                          types.of(property));
    return body;
}

const std::vector<Finding>& GpuObjects::findings() {
    if (!findings_)
        findings_ = examine(server_.engine().report(), {});
    return *findings_;
}

/// Removes the objects of GPUs that are no longer in the report.
void GpuObjects::remove_all_but(const std::vector<Gpu>& gpus) {
    std::erase_if(by_path_, [&gpus](const auto& entry) {
        const bool is_gone = std::ranges::find(gpus, entry.second->id(), &Gpu::id) == gpus.end();
        if (is_gone)
            entry.second->retract();
        return is_gone;
    });
}

void GpuObjects::update(BusCalls& calls) {
    const auto& report = server_.engine().report();
    const auto seen = open_to_all(report);
    // Compare the findings only if a client has read the old findings.
    const auto old_findings = std::exchange(findings_, std::nullopt);
    remove_all_but(report.gpus);
    for (const auto& gpu : report.gpus) {
        auto values = property_values(gpu, seen);
        const auto known = std::ranges::find_if(
            by_path_, [&gpu](const auto& entry) { return entry.second->id() == gpu.id; });
        if (known != by_path_.end())
            known->second->update(std::move(values),
                                  old_findings && differ(*old_findings, findings(), gpu.id));
        else
            add(gpu, std::move(values), calls);
    }
}

void GpuObjects::add(const Gpu& gpu, std::vector<Value> values, BusCalls& calls) {
    const auto path = free_path(gpu.id);
    auto object = std::make_unique<GpuObject>(connection_.raw(), path, gpu.id, std::move(values),
                                              *this, server_, calls);
    // Before the first message, no client can have a list of objects that would be outdated.
    if (connection_.has_read())
        object->announce();
    by_path_.emplace(path, std::move(object));
}

std::string GpuObjects::path_of(const std::string& id) const {
    // A partition's id is the GPU's id with a suffix; partitions aren't exported as objects.
    const auto whole = whole_id(id);
    const auto known = std::ranges::find_if(
        by_path_, [whole](const auto& entry) { return entry.second->id() == whole; });
    if (known == by_path_.end())
        return "/";
    const bool is_partition = whole.size() < id.size();
    return is_partition ? partition_path(known->first, id.substr(whole.size() + 1)) : known->first;
}

std::optional<std::string> GpuObjects::id_of(const std::string& path) const {
    const auto known = by_path_.find(path);
    return known == by_path_.end() ? std::nullopt : std::optional{known->second->id()};
}

std::string GpuObjects::free_path(const std::string& id) const {
    std::string path = bus::kGpuPath + path_element(id);
    while (by_path_.contains(path))  // an id that differs only in punctuation has this path
        path += "_";
    return path;
}

ManagerObject::ManagerObject(bus::Connection& connection,
                             const CallServer& server,
                             const GpuObjects& gpus,
                             BusCalls& calls)
    : BusObject{connection.raw(), bus::kRootPath, manager_interface()},
      server_{server},
      gpus_{gpus},
      calls_{calls},
      values_(current()) {}

std::vector<Value> ManagerObject::current() const {
    const auto& engine = server_.engine();
    const auto& report = engine.report();
    // The engine lists first the GPU that the application "default" would use.
    const auto* first = report.gpus.empty() ? nullptr : &report.gpus.front();
    const bool computes = first && first->kind != GpuKind::DisplayOnly;
    // Clients read these words before they use a method that an older daemon may lack.
    std::vector<std::string> features{"select",      "recommend", "probe",   "verify",
                                      "measure",     "override",  "outcome", "quarantine",
                                      "describe-fd", "plan"};
    if (engine.is_replayed())
        features.emplace_back("replay");
    return {Value{std::string{kVersion}}, to_value(features), to_value(report.generation),
            to_value(report.state), Value{computes ? first->id : std::string{}}};
}

void ManagerObject::update() {
    // Replace the values before sending the signal, because sending it reads the values.
    const auto before = std::exchange(values_, current());
    signal_changes(changed(manager_properties(), before, values_));
}

bus::MessageBody ManagerObject::read(std::string_view property) {
    const auto place = place_of(manager_properties(), property);
    const bus::MessageWriter::PathOf path_of = [this](const std::string& id) {
        return gpus_.path_of(id);
    };
    bus::MessageBody body;
    bus::MessageWriter{body, property_types().types, path_of}.append(
        manager_properties()[place].signature, values_[place], {});
    return body;
}

}  // namespace gpuprobe::inline service
