// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/value.h"

namespace gpuprobe {
namespace verb_test {

using Words = std::vector<std::string>;

// Words -------------------------------------------------------------------------------------------

TEST(LongName, IsTheOneWithTwoDashesIfThereIsOne) {
    EXPECT_EQ(long_name({.names = "-q,--quiet"}), "--quiet");
    EXPECT_EQ(long_name({.names = "--quiet"}), "--quiet");
    EXPECT_EQ(long_name({.names = "-j"}), "-j");
}

TEST(CommaList, HasTrimmedItemsThatAreNotEmpty) {
    EXPECT_EQ(comma_list("a,b"), (Words{"a", "b"}));
    EXPECT_EQ(comma_list(" a , ,b,"), (Words{"a", "b"}));
    EXPECT_EQ(comma_list("a b"), Words{"a b"});
    EXPECT_EQ(comma_list(""), Words{});
    EXPECT_EQ(comma_list(" , "), Words{});
}

TEST(Assign, StoresTextsListsAndFlags) {
    bool flag = false;
    EXPECT_TRUE(assign(flag, ""));
    EXPECT_TRUE(flag);
    std::optional<std::string> text;
    EXPECT_TRUE(assign(text, ""));
    EXPECT_EQ(text, "") << "an empty word differs from none";
    std::vector<std::string> items{"before"};
    EXPECT_TRUE(assign(items, "a,b"));
    EXPECT_EQ(items, (Words{"a", "b"}));
    std::optional<std::vector<std::string>> optional_items;
    EXPECT_TRUE(assign(optional_items, ""));
    EXPECT_EQ(optional_items, Words{});
}

TEST(Assign, ReadsNumbers) {
    std::optional<std::uint64_t> number;
    EXPECT_TRUE(assign(number, "0"));
    EXPECT_EQ(number, 0U);
    EXPECT_TRUE(assign(number, "18446744073709551615"));
    for (const auto* bad : {"", "-1", "1.5", "0x1", "1k", " 1", "18446744073709551616"}) {
        const auto refused = assign(number, bad);
        ASSERT_FALSE(refused) << bad;
        EXPECT_EQ(refused.error().code, ErrorCode::InvalidRequest);
        EXPECT_EQ(refused.error().text, "'" + std::string{bad} + "' is not a number");
    }
}

TEST(Assign, ReadsSizesAndGivesAHint) {
    std::optional<Bytes> size;
    EXPECT_TRUE(assign(size, "8GiB"));
    EXPECT_EQ(size, gib(8));
    EXPECT_TRUE(assign(size, "1GB"));
    EXPECT_EQ(size, Bytes{1'000'000'000});
    EXPECT_TRUE(assign(size, "1048576"));
    EXPECT_EQ(size, mib(1));
    for (const auto* bad : {"", "GiB", "-1", "8 potatoes"}) {
        const auto refused = assign(size, bad);
        ASSERT_FALSE(refused) << bad;
        EXPECT_TRUE(refused.error().text.starts_with("'" + std::string{bad} + "' is not a size\n"));
    }
}

TEST(Assign, ShowsNoControlCharacterOfABadWord) {
    std::optional<std::uint64_t> number;
    const auto refused = assign(number, "\x1b[31m" + std::string(500, 'a'));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text.find('\x1b'), std::string::npos);
    EXPECT_LT(refused.error().text.size(), 100U);
}

// Keys of requests --------------------------------------------------------------------------------

Value& request_in(Arguments& arguments) {
    return arguments.select.request;
}

/// The request as JSON, after the option for a key of this type has parsed the word; otherwise the
/// error.
std::string taken(RequestKey key, const std::string& word) {
    key.key = "k";
    Arguments arguments;
    const auto option = option_of(key, request_in);
    const auto status = option.accept(arguments, word);
    return status ? json_line(arguments.select.request) : status.error().text;
}

TEST(OptionOfAKey, StoresTheWordByTheTypeOfTheKey) {
    EXPECT_EQ(taken({.type = RequestType::Word}, "a,b"), R"({"k":"a,b"})");
    EXPECT_EQ(taken({.type = RequestType::Number}, "32k"), R"({"k":"32k"})");
    EXPECT_EQ(taken({.type = RequestType::Names}, "a,b"), R"({"k":["a","b"]})");
    EXPECT_EQ(taken({.type = RequestType::Size}, "1KiB"), R"({"k":1024})");
    EXPECT_EQ(taken({.type = RequestType::Mebibytes}, "5MiB"), R"({"k":5})");
    EXPECT_EQ(taken({.type = RequestType::Flag}, ""), R"({"k":true})");
    EXPECT_EQ(taken({.type = RequestType::Flag, .option_sets = false}, ""), R"({"k":false})");
}

TEST(OptionOfAKey, OmitsAnEmptyListUnlessItHasAMeaning) {
    EXPECT_EQ(taken({.type = RequestType::Names}, " ,"), "{}");
    EXPECT_EQ(taken({.type = RequestType::Names, .keeps_empty = true}, " ,"), R"({"k":[]})");
}

TEST(OptionOfAKey, RefusesWordsThatAreNoNumbersOrSizes) {
    EXPECT_TRUE(taken({.type = RequestType::Mebibytes}, "5 apples").starts_with("'5 apples'"));
    EXPECT_TRUE(taken({.type = RequestType::Size}, "x").starts_with("'x' is not a size"));
}

TEST(OptionOfAKey, OffersTheWordsOfTheKey) {
    const RequestKey key{.key = "k",
                         .type = RequestType::Names,
                         .meaning = "what it is",
                         .option = "--k",
                         .placeholder = "LIST",
                         .offers = "a b",
                         .offers_gpus = true,
                         .offers_files = true,
                         .takes_others = false};
    const auto option = option_of(key, request_in);
    EXPECT_EQ(option.names, "--k");
    EXPECT_EQ(option.help, "what it is");
    EXPECT_EQ(option.value.name, "LIST");
    EXPECT_EQ(option.value.offers, "a b");
    EXPECT_EQ(option.value.names, unsigned{kGpus} | unsigned{kFiles});
    EXPECT_FALSE(option.value.takes_others);
    EXPECT_TRUE(option.value.is_list);
}

TEST(RuleOptions, AreTheKeysThatARuleMayHave) {
    std::set<std::string_view> wanted;
    for (const auto& keys : {select_keys(), recommend_keys()})
        for (const auto& key : keys)
            if (!key.rule_option.empty())
                wanted.insert(key.rule_option);
    std::set<std::string_view> names;
    for (const auto& option : rule_options()) {
        EXPECT_TRUE(names.insert(option.names).second) << option.names << " twice";
        EXPECT_FALSE(option.help.empty()) << option.names;
    }
    EXPECT_EQ(names, wanted);
}

TEST(VariantOptions, LeaveExplainToTheVerbThatHasIt) {
    const auto options = variant_options();
    const auto explain = explain_variants_option();
    EXPECT_EQ(std::ranges::find(options, explain.names, &Option::names), options.end());
    EXPECT_NE(std::ranges::find(options, "--manifest", &Option::names), options.end());
    Arguments arguments;
    ASSERT_TRUE(explain.accept(arguments, ""));
    EXPECT_EQ(arguments.recommend.request.at("explain"), Value{true});
}

// Tables ------------------------------------------------------------------------------------------

TEST(Verbs, AreFoundByTheirWholeName) {
    for (const auto& verb : verbs()) {
        const auto* found = find_verb(verb.name);
        ASSERT_NE(found, nullptr) << verb.name;
        EXPECT_EQ(found->name, verb.name);
    }
    for (const auto* name : {"", "selec", "selects", "SELECT", "-h"})
        EXPECT_EQ(find_verb(name), nullptr) << name;
}

TEST(Verbs, HaveExactlyOneImplementationAndNoNameTwice) {
    std::set<std::string_view> names;
    for (const auto& verb : verbs()) {
        EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
        // The program itself handles the verb help.
        EXPECT_EQ((verb.run ? 1 : 0) + (verb.run_alone ? 1 : 0), verb.name == "help" ? 0 : 1)
            << verb.name;
        EXPECT_FALSE(verb.usage.empty()) << verb.name;
    }
}

TEST(Options, OfAVerbHaveNoNameTwiceNorOneOfEveryVerb) {
    for (const auto& verb : verbs()) {
        std::set<std::string_view> names;
        const auto add = [&](const Option& option) {
            for (const auto name : split(option.names, ','))
                EXPECT_TRUE(names.insert(name).second) << verb.name << " " << name;
            EXPECT_NE(option.key != nullptr, option.take != nullptr)
                << verb.name << " " << option.names;
            EXPECT_EQ(option.key != nullptr, option.request != nullptr) << option.names;
        };
        std::ranges::for_each(verb.options, add);
        for (const auto& group : global_options())
            std::ranges::for_each(group.options, add);
    }
}

TEST(ApiWords, AreTheNamesOfAllApis) {
    std::string words;
    for (const auto& api : kApis)
        words += (words.empty() ? "" : " ") + std::string{api.word};
    EXPECT_EQ(api_words(), words);
}

// Options of every verb ---------------------------------------------------------------------------

Status take_globally(Arguments& arguments, std::string_view name, const std::string& word) {
    for (const auto& group : global_options())
        for (const auto& option : group.options)
            if (long_name(option) == name)
                return option.accept(arguments, word);
    return refusal("no such option");
}

TEST(Patience, IsOneSecondToTenMinutes) {
    for (const auto* good : {"1", "600"}) {
        Arguments arguments;
        EXPECT_TRUE(take_globally(arguments, "--patience", good)) << good;
        EXPECT_EQ(std::to_string(arguments.patience.value_or(0)), good);
    }
    for (const auto* bad : {"0", "601", "-1", "", "1s"}) {
        Arguments arguments;
        EXPECT_FALSE(take_globally(arguments, "--patience", bad)) << bad;
        EXPECT_EQ(arguments.patience, std::nullopt);
    }
}

TEST(JsonAndColor, KeepTheDefaultIfItIsNamed) {
    Arguments arguments{.json = JsonMode::Short, .colour = ColourMode::Never};
    EXPECT_TRUE(take_globally(arguments, "--json", "off"));
    EXPECT_TRUE(take_globally(arguments, "--color", "auto"));
    EXPECT_EQ(arguments.json, JsonMode::Short);
    EXPECT_EQ(arguments.colour, ColourMode::Never);
    EXPECT_TRUE(take_globally(arguments, "--json", "pretty"));
    EXPECT_TRUE(take_globally(arguments, "--color", "always"));
    EXPECT_EQ(arguments.json, JsonMode::Pretty);
    EXPECT_EQ(arguments.colour, ColourMode::Always);
}

TEST(GlobalFlags, SwitchOffDefaults) {
    Arguments arguments;
    EXPECT_TRUE(take_globally(arguments, "--no-legend", ""));
    EXPECT_TRUE(take_globally(arguments, "--no-cache", ""));
    EXPECT_FALSE(arguments.has_legend);
    EXPECT_FALSE(arguments.has_cache);
}

TEST(ApplicationFolders, AreCollected) {
    Arguments arguments;
    EXPECT_TRUE(take_globally(arguments, "--applications", "a"));
    EXPECT_TRUE(take_globally(arguments, "--applications", "b,c"));
    EXPECT_EQ(arguments.application_folders, (Words{"a", "b,c"}));
}

TEST(Operands, NameGpusAndTheApplication) {
    Arguments arguments;
    EXPECT_TRUE(take_gpu(arguments, "0"));
    EXPECT_TRUE(take_gpu(arguments, "pci:0000:01:00.0"));
    EXPECT_EQ(arguments.gpus, (Words{"0", "pci:0000:01:00.0"}));
    EXPECT_FALSE(arguments.select.names_application);
    EXPECT_TRUE(take_application(arguments, "ollama"));
    EXPECT_EQ(arguments.select.application, "ollama");
    EXPECT_TRUE(arguments.select.names_application);
}

}  // namespace verb_test
}  // namespace gpuprobe
