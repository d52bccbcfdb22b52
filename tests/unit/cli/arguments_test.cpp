// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <map>

#include <gtest/gtest.h>

#include "base/value.h"
#include "cli/help.h"
#include "cli/verb.h"
#include "plan/plan.h"

namespace gpuprobe {
namespace arguments_test {

using Words = std::vector<std::string>;

Arguments read(const Words& words, bool is_terminal = false) {
    auto parsed = parse_arguments(words, is_terminal);
    EXPECT_TRUE(parsed.arguments) << (parsed.refusal ? parsed.refusal->text : "");
    return parsed.arguments.value_or(Arguments{});
}

std::string refusal(const Words& words) {
    const auto parsed = parse_arguments(words, false);
    return parsed.refusal ? parsed.refusal->text : "accepted";
}

TEST(Arguments, StatusIsTheDefault) {
    EXPECT_EQ(read({}).verb, "status");
    EXPECT_EQ(read({"-q"}).verb, "status");
    EXPECT_EQ(read({"--version"}).verb, "version");
}

TEST(Arguments, OptionsStandOnBothSidesOfTheVerb) {
    for (const auto& words : {Words{"-j", "list"}, Words{"list", "-j"},
                              Words{"list", "--json=short"}, Words{"--json", "short", "list"}}) {
        EXPECT_EQ(read(words).verb, "list");
        EXPECT_EQ(read(words).json, JsonMode::Short);
    }
}

TEST(Arguments, ShortJsonOptionIsPrettyOnATerminal) {
    EXPECT_EQ(read({"-j"}, true).json, JsonMode::Pretty);
    EXPECT_EQ(read({"-j"}, false).json, JsonMode::Short);
    EXPECT_EQ(read({"--json=off"}, true).json, JsonMode::Off);
}

TEST(Arguments, RequestContainsOnlyTheGivenOptions) {
    EXPECT_EQ(json_line(read({"select", "tsuku"}).select.request), "{}");
    const auto all = read({"select", "x", "--built=cuda,vulkan", "--exclude", "opencl",
                           "--backend=cuda", "--memory=8GiB", "--strict", "--prefer=rocm"});
    EXPECT_EQ(json_line(all.select.request),
              R"({"built":["cuda","vulkan"],"prefer":["rocm"],"deny":["opencl"],"backend":"cuda",)"
              R"("min-memory":8589934592,"strict":true})");
    EXPECT_EQ(json_line(read({"select", "--built="}).select.request), R"({"built":[]})");
    EXPECT_EQ(read({"select"}).select.application, "default");
}

TEST(Arguments, EachKeyOfARequestHasItsOption) {
    const auto value_for = [](const RequestKey& key) -> std::string {
        if (key.type == RequestType::Size)
            return "=8GiB";
        if (key.type == RequestType::Mebibytes)
            return "=7MiB";
        return key.placeholder.empty() ? "" : key.takes_others ? "=x" : "=measured";
    };
    // Some values of `plan` are parsed together with the command line.
    const std::map<std::string_view, std::string> planned{{"ctx", "8k"},
                                                          {"batch", "64"},
                                                          {"ubatch", "32"},
                                                          {"streams", "2"},
                                                          {"flash-attention", "on"},
                                                          {"swa-full", ""},
                                                          {"tensor-split", "3,1"},
                                                          {"margin-mib", "7MiB"},
                                                          {"context-mib", "7MiB"},
                                                          {"need-mib", "7MiB"},
                                                          {"projector-mib", "7MiB"},
                                                          {"gpus", "0"},
                                                          {"application", "ollama"}};
    for (const auto& key : plan_keys()) {
        if (key.option.empty())
            continue;  // kv, which has an option for keys and one for values
        const auto& value = planned.at(key.key);
        const auto option = std::string{key.option} + (value.empty() ? "" : "=" + value);
        const auto asked =
            key.key == "need-mib" ? read({"plan", option}) : read({"plan", "--gguf=x", option});
        EXPECT_NE(asked.plan.request.find(key.key), nullptr) << key.key;
    }
    for (const auto& key : select_keys()) {
        if (key.option.empty())
            continue;  // the command line has no option for the key
        const auto asked = read({"select", "x", std::string{key.option} + value_for(key)});
        EXPECT_NE(asked.select.request.find(key.key), nullptr) << key.key;
        if (key.rule_option.empty())
            continue;
        const auto rule = override_rule_of(
            read({"override", "set", "x", std::string{key.rule_option} + value_for(key)}));
        EXPECT_NE(rule.find(key.key), nullptr) << key.key;
    }
    for (const auto& key : recommend_keys()) {
        if (key.option.empty())
            continue;
        const auto asked = read({"recommend", "x", std::string{key.option} + value_for(key)});
        EXPECT_NE(asked.recommend.request.find(key.key), nullptr) << key.key;
        if (key.rule_option.empty())
            continue;
        const auto rule = override_rule_of(
            read({"override", "set", "x", std::string{key.rule_option} + value_for(key)}));
        EXPECT_NE(rule.at("variants").find(key.key), nullptr) << key.key;
    }
    EXPECT_EQ(json_line(read({"select", "x", "--no-rejected"}).select.request),
              R"({"include-rejected":false})");
    EXPECT_EQ(json_line(read({"select", "x", "--prefer="}).select.request), "{}");
}

TEST(Arguments, SizesOfAllVerbsAreWrittenAlike) {
    const auto mebibytes = [](const char* size) {
        const auto option = std::string{"--memory="} + size;
        const auto plan = read({"plan", option}).plan.request.at("need-mib").as_unsigned();
        const auto variant =
            read({"recommend", "x", option}).recommend.request.at("need-mib").as_unsigned();
        EXPECT_EQ(plan, variant);
        return plan;
    };
    EXPECT_EQ(mebibytes("8GiB"), 8192U);
    EXPECT_EQ(mebibytes("8192MiB"), 8192U);
    EXPECT_EQ(mebibytes("8388608KiB"), 8192U);
    EXPECT_EQ(mebibytes("8GB"), 7630U);  // rounded up
    EXPECT_EQ(mebibytes("1500kB"), 2U);
    EXPECT_EQ(mebibytes("1MB"), 1U);
    EXPECT_EQ(mebibytes("1048576"), 1U);
    EXPECT_EQ(read({"select", "x", "--memory=8GiB"}).select.request.at("min-memory").as_unsigned(),
              8ULL << 30U);
}

TEST(Arguments, TheCacheOfAPlanHasATypeForKeysAndOneForValues) {
    const auto types = [](const Words& words) {
        return json_line(read(words).plan.request.at("kv"));
    };
    EXPECT_EQ(types({"plan", "--gguf=x", "--cache-type-k=q8_0"}), R"(["q8_0","f16"])");
    EXPECT_EQ(types({"plan", "--gguf=x", "--cache-type-v=q4_0", "--cache-type-k=q8_0"}),
              R"(["q8_0","q4_0"])");
}

TEST(Arguments, OnlyCheckTakesSeveralCaptures) {
    EXPECT_EQ(read({"check", "x", "--replay=a", "--replay=b"}).captures, (Words{"a", "b"}));
    EXPECT_EQ(refusal({"list", "--replay=a", "--replay=b"}),
              "gpuprobectl: --replay is given twice\nSee 'gpuprobectl help list'.\n");
}

TEST(Arguments, TakesSeveralGpus) {
    EXPECT_EQ(read({"show", "0", "1"}).gpus, (Words{"0", "1"}));
    for (const auto* verb : {"show", "probe", "bench"})
        EXPECT_EQ(read({verb, "0", "--gpu=1,2", "--gpu=3"}).gpus, (Words{"0", "1", "2", "3"}))
            << verb;
    EXPECT_EQ(read({"probe", "0", "--api=vulkan,opencl", "--allow-wake"}).apis,
              (Words{"vulkan", "opencl"}));
}

struct Mistake {
    Words words;
    const char* text;
};

TEST(Arguments, MistakesAreNamedWithAHint) {
    const Mistake mistakes[] = {
        {{"statsu"}, "gpuprobectl: unknown verb 'statsu'\nDid you mean 'status'?\n"},
        {{"frobnicate"}, "gpuprobectl: unknown verb 'frobnicate'\nSee 'gpuprobectl help'.\n"},
        {{"list", "--jsno"}, "gpuprobectl: unknown option '--jsno'\nDid you mean '--json'?\n"},
        {{"list", "-x"}, "gpuprobectl: unknown option '-x'\nSee 'gpuprobectl help list'.\n"},
        {{"list", "extra"},
         "gpuprobectl: list: unexpected argument 'extra'\nSee 'gpuprobectl help list'.\n"},
        {{"capture"}, "gpuprobectl: capture: missing DIR\nSee 'gpuprobectl help capture'.\n"},
        {{"env", "--all"},
         "gpuprobectl: env: --all requires a GPU\n"
         "See 'gpuprobectl help env'.\n"},
        {{"select", "--memory=lots"},
         "gpuprobectl: --memory: 'lots' is not a size\n"
         "Write a size like 8GiB, 8192MiB or 8GB, or as a number of bytes.\n"},
        {{"select", "--memory=8"},
         "gpuprobectl: --memory: '8' has no unit and would mean bytes: write 8GiB\n"
         "See 'gpuprobectl help select'.\n"},
        {{"recommend", "x", "--memory=8192"},
         "gpuprobectl: --memory: '8192' has no unit and would mean bytes: write 8192MiB\n"
         "See 'gpuprobectl help recommend'.\n"},
        {{"plan", "--memory=1GiB", "--margin=0"},
         "gpuprobectl: --margin: '0' has no unit and would mean bytes: write 0GiB\n"
         "See 'gpuprobectl help plan'.\n"},
        {{"probe", "--stage=verfy"},
         "gpuprobectl: --stage: unknown value 'verfy'; did you mean 'verify'?\n"
         "See 'gpuprobectl help probe'.\n"},
        {{"--color=sometimes"},
         "gpuprobectl: --color: unknown value 'sometimes'; known values: auto, always, never\n"
         "See 'gpuprobectl help'.\n"},
        {{"report-outcome", "x", "bad"},
         "gpuprobectl: RESULT: unknown value 'bad'; known values: ok, failed\n"
         "See 'gpuprobectl help report-outcome'.\n"},
        {{"bench", "--api"},
         "gpuprobectl: --api requires a value\nSee 'gpuprobectl help bench'.\n"},
        {{"select", "--built"},
         "gpuprobectl: --built requires a value\nSee 'gpuprobectl help select'.\n"},
        {{"--socket"}, "gpuprobectl: --socket requires a value\nSee 'gpuprobectl help'.\n"},
        {{"select", "--built=cuda", "--built=cpu"},
         "gpuprobectl: --built is given twice\nSee 'gpuprobectl help select'.\n"},
        {{"help", "statsu"}, "gpuprobectl: no help page for 'statsu'\nDid you mean 'status'?\n"},
    };
    for (const auto& mistake : mistakes)
        EXPECT_EQ(refusal(mistake.words), mistake.text);
}

TEST(Arguments, WordsAfterTwoDashesBelongToTheProgramOfRun) {
    const auto run = read(
        {"--replay=x", "run", "llama.cpp", "--expect=cuda", "--", "p", "-j", "--", "--help", ""});
    EXPECT_EQ(run.run.program, (Words{"p", "-j", "--", "--help", ""}));
    EXPECT_EQ(run.select.application, "llama.cpp");
    EXPECT_EQ(run.run.expect, "cuda");
    EXPECT_FALSE(run.run.wants_json);
    EXPECT_EQ(read({"run", "--", "p"}).select.application, "default");
    const auto json = read({"run", "-j", "--", "p"}, true);
    EXPECT_TRUE(json.run.wants_json);
    EXPECT_EQ(json.json, JsonMode::Off) << "standard output is the program's";
    EXPECT_EQ(read({"select", "--", "run"}).select.application, "run");
    EXPECT_EQ(refusal({"list", "--", "p"}),
              "gpuprobectl: list: unexpected argument 'p'\nSee 'gpuprobectl help list'.\n");
    for (const auto& words : {Words{"run"}, Words{"run", "x", "--"}, Words{"run", "--", ""}})
        EXPECT_EQ(refusal(words),
                  "gpuprobectl: run: missing PROGRAM\n"
                  "Write the program after two dashes: gpuprobectl run APPLICATION -- PROGRAM "
                  "ARGUMENTS…\n");
}

TEST(Arguments, ExpectsOnlyApisThatCanCompute) {
    for (const auto* word :
         {"cuda", "rocm", "hip", "sycl", "level_zero", "vulkan", "webgpu", "cpu"})
        EXPECT_EQ(read({"run", std::string{"--expect="} + word, "--", "p"}).run.expect, word);
    for (const auto* word : {"nvml", "drm", "CUDA", "soup", ""})
        EXPECT_NE(refusal({"run", std::string{"--expect="} + word, "--", "p"}), "accepted") << word;
}

TEST(Arguments, RefusesUnknownModes) {
    EXPECT_NE(refusal({"--json=yaml"}), "accepted");
    EXPECT_NE(refusal({"--color=sometimes"}), "accepted");
    EXPECT_NE(refusal({"--socket"}), "accepted");
}

TEST(Arguments, EveryVerbHasHelp) {
    for (const auto& verb : verb_names()) {
        EXPECT_TRUE(help_text(verb)) << verb;
        EXPECT_NE(help_text("")->find("\n  " + verb), std::string::npos) << verb;
        const auto parsed = parse_arguments({verb, "--help"}, false);
        ASSERT_TRUE(parsed.refusal);
        EXPECT_TRUE(parsed.refusal->is_help);
    }
    EXPECT_EQ(parse_arguments({"help"}, false).refusal->text, *help_text(""));
}

TEST(Arguments, EveryVerbIsWholeAndDoesSomething) {
    for (const auto& verb : verbs()) {
        EXPECT_TRUE(verb.name == "help" || (verb.run == nullptr) != (verb.run_alone == nullptr))
            << verb.name;
        EXPECT_TRUE(!verb.usage.empty() && !verb.overview.empty()) << verb.name;
        EXPECT_TRUE(verb.about.starts_with('\n') && verb.about.ends_with('\n')) << verb.name;
        for (const auto& option : verb.options) {
            EXPECT_NE(option.take == nullptr, option.key == nullptr) << option.names;
            EXPECT_FALSE(option.names.empty() || option.help.empty()) << option.names;
        }
        for (const auto& operand : verb.operands)
            EXPECT_TRUE(operand.take != nullptr && !operand.word.name.empty()) << verb.name;
    }
}

TEST(Arguments, AnOptionWithAValueTakesOneWord) {
    const auto arguments = read({"--applications", "a", "--applications=b", "select", "tsuku"});
    EXPECT_EQ(arguments.application_folders, (Words{"a", "b"}));
    EXPECT_EQ(arguments.select.application, "tsuku");
    EXPECT_EQ(refusal({"recommend", "x", "--memory=lots"}),
              "gpuprobectl: --memory: 'lots' is not a size\n"
              "Write a size like 8GiB, 8192MiB or 8GB, or as a number of bytes.\n");
}

TEST(Arguments, AnOptionOfAVerbGoesBehindIt) {
    for (const auto& words : {Words{"--chain"}, Words{"--chain", "recommend", "torch"}})
        EXPECT_NE(refusal(words).find(
                      "This is an option of 'recommend': write the option after the verb."),
                  std::string::npos)
            << refusal(words);
    EXPECT_NE(refusal({"list", "--chain"}).find(", not of 'list'."), std::string::npos)
        << refusal({"list", "--chain"});
    EXPECT_EQ(read({"select", "--explain"}).verb, "select");
    EXPECT_NE(refusal({"select", "--explian"}).find("Did you mean '--explain'?"),
              std::string::npos);
}

}  // namespace arguments_test
}  // namespace gpuprobe
