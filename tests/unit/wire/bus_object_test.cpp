// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/bus_pair.h"
#include "wire/bus.h"
#include "wire/varlink.h"

namespace gpuprobe::bus {
namespace bus_object_test {

using support::BusMessage;
using support::BusPair;

constexpr const char* kPath = "/object";
constexpr const char* kInterface = "org.example.Test";
constexpr const char* kProperties = "org.freedesktop.DBus.Properties";

const BusInterface& test_interface() {
    using Change = BusProperty::Change;
    static const BusInterface table{
        kInterface,
        std::vector<BusMethod>{
            {.name = "Greet", .in = {{"name", "s"}}, .out = {{"greeting", "s"}, {"length", "u"}}},
            {.name = "Keep"},
            {.name = "Hold", .out = {{"text", "s"}}},
            {.name = "Throw"}},
        std::vector<BusProperty>{{"Size", "t"},
                                 {"Kind", "s", Change::Const},
                                 {"Level", "x", Change::Silent},
                                 {"Words", "s", Change::Invalidated},
                                 {"Broken", "s", Change::Silent}},
        std::vector<BusSignal>{{.name = "Moved", .arguments = {{"from", "s"}, {"share", "d"}}}}};
    return table;
}

/// An object that answers Greet, keeps the replies of Keep and Hold, and throws in Throw.
class TestObject final : public BusObject {
public:
    explicit TestObject(sd_bus* bus, const char* path = kPath)
        : BusObject{bus, path, test_interface()} {}

    std::shared_ptr<BusReply> kept = {};
    int sent = 0;
    std::uint64_t size = 7;

private:
    void called(sd_bus_message* call) override {
        const std::string member = sd_bus_message_get_member(call);
        const auto reply = std::make_shared<BusReply>(call, [this] { ++sent; });
        if (member == "Keep" || member == "Hold") {
            kept = reply;
            return;
        }
        if (member == "Throw") {
            kept = reply;
            throw std::runtime_error{"no such luck"};
        }
        const auto name = read_argument(call).value();
        const auto greeting = "hello " + *name.as_string();
        MessageBody answer;
        answer.add_text('s', greeting);
        answer.add_number('u', greeting.size());
        reply->send(answer);
    }
    MessageBody read(std::string_view property) override {
        if (property == "Broken")
            throw sdbus_error(Error{ErrorCode::UnknownDevice, "not today"});
        if (property == "Level")
            throw std::runtime_error{"unexpected"};
        MessageBody value;
        if (property == "Kind")
            value.add_text('s', "test");
        else
            value.add_number('t', size);
        return value;
    }
};

class BusObjectTest : public ::testing::Test {
protected:
    const BusMessage& ask(const char* member) { return pair.ask(kPath, kInterface, member); }
    const BusMessage& greet(const char* name) {
        return pair.ask(kPath, kInterface, "Greet",
                        [name](sd_bus_message* call) { sd_bus_message_append(call, "s", name); });
    }
    const BusMessage& get(const char* property) {
        return pair.ask(kPath, kProperties, "Get", [property](sd_bus_message* call) {
            sd_bus_message_append(call, "ss", kInterface, property);
        });
    }
    /// The error's name without the common prefix of our errors, followed by its message; "" if
    /// there is no error.
    static std::string error_of(const BusMessage& reply) {
        const auto* error = reply ? sd_bus_message_get_error(reply.get()) : nullptr;
        if (!error || !error->name)
            return "";
        const std::string name = error->name;
        return name.substr(name.rfind('.') + 1) + ": " + error->message;
    }
    static std::string next(const BusMessage& reply) {
        const auto value = read_argument(reply.get());
        return value ? json_line(*value) : value.error().text;
    }

    BusPair pair = {};
    TestObject object{pair.server()};
};

TEST_F(BusObjectTest, AnswersCalls) {
    const auto& reply = greet("anna");
    EXPECT_FALSE(reply);
    pair.run();
    ASSERT_TRUE(reply);
    EXPECT_EQ(next(reply), R"("hello anna")");
    EXPECT_EQ(next(reply), "10");
    EXPECT_EQ(object.sent, 1);
}

TEST_F(BusObjectTest, RefusesArgumentsOfOtherTypes) {
    const auto& reply = pair.ask(kPath, kInterface, "Greet",
                                 [](sd_bus_message* call) { sd_bus_message_append(call, "u", 1); });
    pair.run();
    EXPECT_TRUE(error_of(reply).starts_with("InvalidArgs: "));
}

TEST_F(BusObjectTest, TurnsAnExceptionIntoAnError) {
    const auto& reply = ask("Throw");
    pair.run();
    EXPECT_EQ(error_of(reply), "Internal: no such luck");
}

TEST_F(BusObjectTest, ReadsProperties) {
    const auto& size = get("Size");
    const auto& kind = get("Kind");
    pair.run();
    EXPECT_EQ(next(size), "7");
    EXPECT_EQ(next(kind), R"("test")");
}

TEST_F(BusObjectTest, TurnsAnExceptionInAPropertyIntoAnError) {
    const auto& broken = get("Broken");
    const auto& level = get("Level");
    pair.run();
    EXPECT_EQ(error_of(broken), "NoSuchGpu: not today");
    EXPECT_EQ(error_of(level), "Internal: unexpected");
}

TEST_F(BusObjectTest, DescribesItsInterface) {
    const auto& reply = pair.ask(kPath, "org.freedesktop.DBus.Introspectable", "Introspect");
    pair.run();
    const auto value = read_argument(reply.get());
    ASSERT_TRUE(value) << value.error().text;
    const auto& xml = *value->as_string();
    for (const char* part :
         {R"(<arg type="s" name="name" direction="in"/>)",
          R"(<arg type="s" name="greeting" direction="out"/>)",
          R"(<arg type="u" name="length" direction="out"/>)", R"(<method name="Keep">)",
          R"(<property name="Size" type="t" access="read">)", R"(<signal name="Moved">)",
          R"(<arg type="d" name="share"/>)", R"(EmitsChangedSignal" value="const")",
          R"(EmitsChangedSignal" value="false")", R"(EmitsChangedSignal" value="invalidates")"})
        EXPECT_NE(xml.find(part), std::string::npos) << part << " in " << xml;
}

TEST_F(BusObjectTest, SignalsTheNewValues) {
    pair.run();
    BusMessage heard;
    const auto keep = [](sd_bus_message* signal, void* place, sd_bus_error*) {
        *static_cast<BusMessage*>(place) = {sd_bus_message_ref(signal), sd_bus_message_unref};
        return 0;
    };
    sd_bus_slot* slot = nullptr;
    ASSERT_GE(sd_bus_match_signal(pair.client(), &slot, nullptr, kPath, kProperties,
                                  "PropertiesChanged", keep, &heard),
              0);
    object.signal_changes({});
    pair.run();
    EXPECT_FALSE(heard);
    object.size = 8;
    object.signal_changes({"Size"});
    pair.run();
    ASSERT_TRUE(heard);
    EXPECT_EQ(next(heard), R"("org.example.Test")");
    EXPECT_EQ(next(heard), R"({"Size":8})");
    EXPECT_EQ(next(heard), "[]");
    heard = {};
    object.signal_changes({"Words"});
    pair.run();
    ASSERT_TRUE(heard);
    EXPECT_EQ(next(heard), R"("org.example.Test")");
    EXPECT_EQ(next(heard), "{}");
    EXPECT_EQ(next(heard), R"(["Words"])");
    sd_bus_slot_unref(slot);
}

TEST_F(BusObjectTest, IsExportedWhileItExists) {
    auto other = std::make_unique<TestObject>(pair.server(), "/other");
    const auto& before = pair.ask("/other", kInterface, "Throw");
    pair.run();
    EXPECT_EQ(error_of(before), "Internal: no such luck");
    other.reset();
    const auto& after = pair.ask("/other", kInterface, "Throw");
    pair.run();
    EXPECT_TRUE(error_of(after).starts_with("Unknown")) << error_of(after);
}

TEST_F(BusObjectTest, CannotHaveThePathOfAnother) {
    EXPECT_THROW((TestObject{pair.server()}), std::system_error);
}

// Replies -----------------------------------------------------------------------------------------

TEST_F(BusObjectTest, KeepsACallUntilItsReply) {
    const auto& reply = ask("Keep");
    pair.run();
    EXPECT_FALSE(reply);
    ASSERT_TRUE(object.kept);
    EXPECT_TRUE(object.kept->is_open());
    EXPECT_NE(object.kept->call(), nullptr);
    object.kept->send(MessageBody{});
    EXPECT_FALSE(object.kept->is_open());
    pair.run();
    EXPECT_TRUE(reply);
    EXPECT_EQ(error_of(reply), "");
}

TEST_F(BusObjectTest, RepliesOnce) {
    ask("Keep");
    pair.run();
    object.kept->send(MessageBody{});
    object.kept->send(MessageBody{});
    object.kept->fail(Error{ErrorCode::Internal, "too late"});
    object.kept.reset();
    EXPECT_EQ(object.sent, 1);
}

TEST_F(BusObjectTest, CancelsACallWhoseReplyIsDropped) {
    const auto& reply = ask("Keep");
    pair.run();
    object.kept.reset();
    pair.run();
    EXPECT_EQ(error_of(reply), "Cancelled: the operation was canceled");
    EXPECT_EQ(object.sent, 1);
}

TEST_F(BusObjectTest, SendsErrorsWithTheirNameAndWithTextThatTheBusAccepts) {
    const auto& reply = ask("Keep");
    pair.run();
    object.kept->fail(Error{ErrorCode::UnknownDevice, "100 %s \xff"});
    pair.run();
    EXPECT_EQ(error_of(reply), "NoSuchGpu: 100 %s \xEF\xBF\xBD");
    const auto& long_one = ask("Keep");
    pair.run();
    object.kept->fail(Error{ErrorCode::Internal, std::string(100'000, 'x')});
    pair.run();
    EXPECT_EQ(error_of(long_one).size(), std::string{"Internal: "}.size() + kib(4).count);
}

TEST_F(BusObjectTest, TurnsABodyThatCannotBeSentIntoAnError) {
    const auto& reply = ask("Keep");
    pair.run();
    MessageBody body;
    body.add_text('s', "a part");
    body.add_text('o', "not a path");
    object.kept->send(body);
    pair.run();
    EXPECT_EQ(error_of(reply), "Internal: the answer could not be sent");
}

TEST_F(BusObjectTest, SendsOneBodyToSeveralCalls) {
    MessageBody body;
    body.add_text('s', "hello");
    for (int i = 0; i < 2; ++i) {
        const auto& reply = ask("Hold");
        pair.run();
        object.kept->send(body);
        pair.run();
        ASSERT_TRUE(reply);
        EXPECT_EQ(next(reply), R"("hello")");
    }
}

}  // namespace bus_object_test
}  // namespace gpuprobe::bus
