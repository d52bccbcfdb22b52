// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gpuprobe/gpuprobe.h>
#include <gtest/gtest.h>

namespace gpuprobe {
namespace gpuprobe_test {

using namespace std::string_literals;

struct Free {
    void operator()(char* text) const { ::gpuprobe_free(text); }
};

std::optional<std::string> taken(char* text) {
    const std::unique_ptr<char, Free> owner{text};
    return text ? std::optional<std::string>{text} : std::nullopt;
}

/// A copy in a block of exactly its size, so that AddressSanitizer detects a read past its end.
class Text {
public:
    explicit Text(std::string_view text)
        : bytes_{static_cast<char*>(std::malloc(text.size() + 1))} {
        std::memcpy(bytes_.get(), text.data(), text.size());
        bytes_.get()[text.size()] = '\0';
    }
    operator const char*() const { return bytes_.get(); }

private:
    struct CFree {
        void operator()(char* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<char, CFree> bytes_;
};

std::optional<std::string> value(std::string_view json, std::string_view pointer) {
    return taken(::gpuprobe_value(Text{json}, Text{pointer}));
}

std::optional<std::string> key(std::string_view json, std::string_view pointer, long index) {
    return taken(::gpuprobe_key(Text{json}, Text{pointer}, index));
}

long count(std::string_view json, std::string_view pointer = "") {
    return ::gpuprobe_count(Text{json}, Text{pointer});
}

/// The keys and values that gpuprobe_each() gives: "key=value", or "value" in an array.
std::vector<std::string> each(std::string_view json, std::string_view pointer = "") {
    const Text text{json};
    const Text place{pointer};
    std::vector<std::string> found;
    const char* at = nullptr;
    char* name = nullptr;
    while (const char* item = ::gpuprobe_each(text, place, &at, &name)) {
        const auto member = taken(name);
        found.push_back((member ? *member + "=" : "") +
                        taken(::gpuprobe_value(item, "")).value_or("null"));
    }
    EXPECT_EQ(name, nullptr);
    return found;
}

/// Strings that are not JSON, without their quotes.
const std::vector<std::string> kMalformedStrings{
    "\\", "\\x", "\\u", "\\u1", "\\u12", "\\u123", "\\u12g4", "\\u-123", "\\u 123", "\\u\\u",
    "\\u\\u\\u\\u", "aaaaaaaaaaaaaaaaaa\\u\\u", "\\U0041", "\\'", "\\0",
    // Surrogates that are not a pair.
    "\\ud800", "\\udc00", "\\ud800x", "\\ud800\\n", "\\ud800\\u", "\\ud800\\ud800",
    "\\ud800\\u0041", "\\udbff\\udbff", "\\udc00\\ud800", "\\ud83d\\ude0", "\\uDFFF",
    // Control characters, and bytes that are not UTF-8.
    "\n", "\t", "\x01", "\x1f", "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(",
    "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xe2\x82", "\xf0\x80\x80\x80",
    "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"};

struct Row {
    std::string json;  ///< a string without its quotes
    std::string text;
};
const std::vector<Row> kStrings{
    {"", ""},
    {"a", "a"},
    {R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
    {"\\u0001", "\x01"},
    {"\\u007f", "\x7f"},
    {"\\u0080", "\xc2\x80"},
    {"\\u07FF", "\xdf\xbf"},
    {"\\u0800", "\xe0\xa0\x80"},
    {"\\uffff", "\xef\xbf\xbf"},
    {"\\ud7ff\\ue000", "\xed\x9f\xbf\xee\x80\x80"},
    {"\\ud800\\udc00", "\xf0\x90\x80\x80"},
    {"\\uDBFF\\uDFFF", "\xf4\x8f\xbf\xbf"},
    {"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
     "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
};

TEST(ClientJson, ReadsStringsAndKeys) {
    for (const auto& [json, text] : kStrings) {
        const auto quoted = '"' + json + '"';
        EXPECT_EQ(value(quoted, ""), text) << json;
        EXPECT_EQ(key("{" + quoted + ":1}", "", 0), text) << json;
        EXPECT_EQ(each("{" + quoted + ":" + quoted + "}"), std::vector{text + "=" + text}) << json;
    }
}

TEST(ClientJson, RefusesMalformedStringsWhereverTheyAre) {
    for (const auto& json : kMalformedStrings) {
        const auto quoted = '"' + json + '"';
        EXPECT_EQ(value(quoted, ""), std::nullopt) << json;
        EXPECT_EQ(value("[" + quoted + "]", "/0"), std::nullopt) << json;
        EXPECT_EQ(value("[[" + quoted + "]]", "/0"), std::nullopt) << json;
        EXPECT_EQ(value("{" + quoted + ":1}", "/x"), std::nullopt) << json;
        EXPECT_EQ(value("{" + quoted + ":1,\"x\":2}", "/x"), std::nullopt) << json;
        EXPECT_EQ(key("{" + quoted + ":1}", "", 0), std::nullopt) << json;
        EXPECT_EQ(key("{\"x\":" + quoted + "}", "", 0), std::nullopt) << json;
        EXPECT_EQ(count("[1," + quoted + "]"), -1) << json;
        EXPECT_TRUE(each("[1," + quoted + "]").empty()) << json;
    }
}

TEST(ClientJson, GivesNoTextThatANulWouldEnd) {
    EXPECT_EQ(value(R"(["a\u0000b"])", "/0"), std::nullopt);
    EXPECT_EQ(key(R"({"a\u0000b":1})", "", 0), std::nullopt);
    EXPECT_EQ(value(R"({"a\u0000b":1})", "/a"), std::nullopt);
    EXPECT_EQ(value(R"(["a\u0000b"])", ""), R"(["a\u0000b"])");  // the JSON is returned as it is
    EXPECT_EQ(count(R"(["a\u0000b"])"), 1);
}

TEST(ClientJson, ReadsNothingBehindACut) {
    std::string document =
        R"({"a\n\u00e9\ud83d\ude00":[-1.5e+3,true,false,null,{"b~/":"c"},[]],"d":"\u00e9)";
    document += "\xc3\xa9\xf0\x9f\x98\x80\"}";
    ASSERT_EQ(count(document), 2);
    for (std::size_t size = 0; size < document.size(); ++size) {
        const auto cut = document.substr(0, size);
        EXPECT_EQ(value(cut, ""), std::nullopt) << cut;
        EXPECT_EQ(count(cut), -1) << cut;
        EXPECT_EQ(key(cut, "", 0), std::nullopt) << cut;
        EXPECT_TRUE(each(cut).empty()) << cut;
        (void)value(cut, "/a\n\xc3\xa9\xf0\x9f\x98\x80/4/b~0~1");
    }
}

TEST(ClientJson, RefusesWhatIsNotJson) {
    for (const auto* json :
         {"",           " ",          "nul",       "nullx",     "True",
          "NaN",        "Infinity",   "-Infinity", "-",         "+1",
          "01",         "1.",         ".5",        "1e",        "1e+",
          "1x",         "0x1",        "'a'",       "{",         "}",
          "[",          "]",          "[}",        "{]",        "[1,]",
          "[,1]",       "[1 2]",      "[1:2]",     "{\"a\"}",   "{\"a\":}",
          "{\"a\":1,}", "{,}",        "{1:2}",     "{\"a\" 1}", "{\"a\":1 \"b\":2}",
          "[1}",        "{\"a\":[1}", "\"a",       ",",         ":",
          "//",         "\v1"}) {
        EXPECT_EQ(value(json, ""), std::nullopt) << json;
        EXPECT_EQ(count(json), -1) << json;
        EXPECT_EQ(count("[0,"s + json + "]"), -1) << json;
        EXPECT_TRUE(each("{\"a\":"s + json).empty()) << json;
    }
}

TEST(ClientJson, ReadsNoMoreThan64Levels) {
    const auto nested = [](std::size_t levels) {
        return std::string(levels, '[') + std::string(levels, ']');
    };
    EXPECT_EQ(count(nested(64)), 1);
    EXPECT_EQ(count(nested(65)), -1);
    EXPECT_EQ(value(nested(100000), ""), std::nullopt);
    std::string objects;
    for (int i = 0; i < 100000; ++i)
        objects += "{\"a\":";
    EXPECT_EQ(value(objects, "/a/a"), std::nullopt);
}

TEST(ClientJson, FollowsPointers) {
    const auto* json = R"( {"a/b":{"~":[10,{"":"empty"}],"~1":"tilde one"},"":7,"0":8,"n":null} )";
    EXPECT_EQ(value(json, "/a~1b/~0/0"), "10");
    EXPECT_EQ(value(json, "/a~1b/~0/1/"), "empty");
    EXPECT_EQ(value(json, "/a~1b/~01"), "tilde one");
    EXPECT_EQ(value(json, "/"), "7");
    EXPECT_EQ(value(json, "/0"), "8");
    for (const auto* pointer : {"a",
                                "/a",
                                "/a~1b/~",
                                "/a~1b/~2",
                                "/a~1",
                                "/a~1b/~0/-1",
                                "/a~1b/~0/00",
                                "/a~1b/~0/01",
                                "/a~1b/~0/2",
                                "/a~1b/~0/ 0",
                                "/a~1b/~0/+0",
                                "/a~1b/~0/4294967296",
                                "/a~1b/~0/18446744073709551616",
                                "/a~1b/~0/99999999999999999999999999",
                                "/n",
                                "/n/0",
                                "/0/0",
                                "//",
                                "/0~",
                                "~"})
        EXPECT_EQ(value(json, pointer), std::nullopt) << pointer;
    EXPECT_EQ(key(json, "", 3), "n");
    EXPECT_EQ(key(json, "", 4), std::nullopt);
    EXPECT_EQ(key(json, "", -1), std::nullopt);
    EXPECT_EQ(key(json, "/a~1b/~0", 0), std::nullopt);
}

TEST(ClientJson, WalksOverItemsAndMembers) {
    EXPECT_EQ(each(R"( [ 1 , "a" , null , [2] , {"b":3} ] )"),
              (std::vector<std::string>{"1", "a", "null", "[2]", "{\"b\":3}"}));
    EXPECT_EQ(each(R"( { "a" : 1 , "b" : "c" , "\u00e9" : {} } )"),
              (std::vector<std::string>{"a=1", "b=c", "\xc3\xa9={}"}));
    EXPECT_EQ(each(R"({"a":["x","y"]})", "/a"), (std::vector<std::string>{"x", "y"}));
    EXPECT_TRUE(each("[]").empty());
    EXPECT_TRUE(each("{}").empty());
    EXPECT_TRUE(each("\"[1]\"").empty());
    EXPECT_TRUE(each("[1]", "/nothing").empty());
    EXPECT_EQ(::gpuprobe_each("[1]", "", nullptr, nullptr), nullptr);
    const char* at = nullptr;
    EXPECT_NE(::gpuprobe_each("{\"a\":1}", "", &at, nullptr), nullptr);
}

TEST(ClientJson, TakesNull) {
    EXPECT_EQ(::gpuprobe_value(nullptr, ""), nullptr);
    EXPECT_EQ(::gpuprobe_value("1", nullptr), nullptr);
    EXPECT_EQ(::gpuprobe_count(nullptr, nullptr), -1);
    EXPECT_EQ(::gpuprobe_key(nullptr, nullptr, 0), nullptr);
    ::gpuprobe_free(nullptr);
}

}  // namespace gpuprobe_test
}  // namespace gpuprobe
