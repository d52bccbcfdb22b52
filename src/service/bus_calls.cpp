// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/value.h"
#include "service/bus_objects.h"
#include "service/daemon_process.h"
#include "wire/bus.h"

namespace gpuprobe::inline service {
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
                   CallServer& server,
                   CallerAccess& access,
                   Authority& authority,
                   GpuNames names)
    : connection_{connection},
      server_{server},
      access_{access},
      authority_{authority},
      names_{std::move(names)},
      self_{std::make_shared<BusCalls*>(this)} {}

BusCalls::~BusCalls() {
    self_.reset();
    server_.answers().clear();  // cached answers contain object paths of this connection
    for (const auto& [number, pending] : pending_)
        if (const auto reply = pending.lock())
            reply->fail(Error{ErrorCode::Cancelled, "the operation was canceled"});
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
            path && path->starts_with(bus::kGpuPath) ? names_.id_of(*path) : std::nullopt)
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
        serve(row, gpu, reply, sender ? sender : "");
    } catch (const std::exception& problem) {
        reply->fail(Error{ErrorCode::Internal, problem.what()});
    }
}

/// Reads the parameters, identifies the caller, and passes the call on to be answered.
void BusCalls::serve(const Row& row,
                     const std::string& gpu,
                     const Reply& reply,
                     const std::string& sender) {
    (void)server_.refresh();
    auto parameters = parameters_of(row, reply->call(), gpu);
    if (!parameters)
        return reply->fail(parameters.error());
    const Asked asked{.row = &row,
                      .reply = reply,
                      .sender = sender,
                      .explains = parameters->at("request").at("explain").as_bool() == true};
    const auto served = std::make_shared<ServedCall>();
    if (row.method.keeping != Keeping::Never && row.out.front().signature != "h" &&
        connection_.call_size() <= AnswerCache::kMaxQuestion.count)
        served->question = std::string{row.method.form.member} + '\0' + json_line(*parameters);
    served->call = {.method = row.method.method,
                    .parameters = std::move(*parameters),
                    .wants_more = row.method.reports_progress,
                    .always_explains = false,
                    .wants_value = row.answer.kind == MemberType::Kind::Record};
    served->is_wanted = [reply] { return reply->is_open(); };
    served->ask =
        [&authority = authority_,
         who = Requester{.sender = sender, .may_be_asked = bus::allows_questions(reply->call())}](
            const std::vector<Action>& needs, std::function<void(const Status&)> done) {
            authority.ask_for_all(who, needs, std::move(done));
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
    access_.identify(
        sender, reply,
        [weak, served](const bus::Credentials& caller, const SharedPool::Claim& share) {
            served->memory = share;
            served->call.uid = caller.uid;
            served->call.groups = caller.groups;
            if (const auto self = weak.lock())
                (*self)->server_.serve(served);
        });
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
    bus::MessageWriter writer{body, row.types, names_.path_of};
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

}  // namespace gpuprobe::inline service
