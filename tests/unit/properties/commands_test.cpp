// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/text.h"
#include "explain/phrase.h"
#include "explain/place.h"
#include "explain/wording_table.h"
#include "policy/causes.h"
#include "report/reason_table.h"
#include "support/temporary_folder.h"
#include "unit/properties/each_machine.h"
#include "unit/properties/hosts.h"

/// Tests that no value of a machine runs as code if a reader pastes a fix or a command. Each cause
/// and each reason is tested at each place, with hostile values.
namespace gpuprobe::testing_properties {
namespace commands_test {

/// Every hostile value contains this word.
constexpr std::string_view kMark = "CANARY";

/// Each value would create the file CANARY if a shell evaluated it.
constexpr auto kHostile = std::to_array<std::string_view>({
    "$(touch CANARY)",
    "`touch CANARY`",
    "; touch CANARY",
    "; touch CANARY #",
    "x|touch CANARY",
    "x&touch CANARY&",
    "x\ntouch CANARY\n",
    "x\rtouch CANARY\r",
    "'; touch CANARY; '",
    "\"; touch CANARY; \"",
    "'\"; touch CANARY; \"'",
    "\\'; touch CANARY; \\'",
    "\\; touch CANARY",
    "x' && touch CANARY && echo 'x",
    "$(touch CANARY)'$(touch CANARY)'$(touch CANARY)",
    "x) ; touch CANARY ; (x",
    "x} ; touch CANARY ; {x",
    "x>CANARY",
    "x >CANARY <",
    "x<(touch CANARY)",
    "x${y:-$(touch CANARY)}",
    "!touch CANARY",
    "*;touch CANARY",
    "~;touch CANARY",
    "\xC2\xA0;touch CANARY",
    "\x1b[31m;touch CANARY",
    "\xE2\x80\xA8;touch CANARY",
    "group\xF0\x9F\x98\x80;touch CANARY",
});

/// Values that are not commands, but must not become options, patterns or several arguments.
constexpr auto kOdd = std::to_array<std::string_view>(
    {"-x", "--help", "a b", "~root", "*", "?", "[a-z]", "{a,b}", "=ls", "!x", "#x", "a\tb", ""});

/// The names between braces, without their forms: "node" of "{node:number}".
std::set<std::string> names_in(std::string_view pattern) {
    std::set<std::string> names;
    for (auto open = pattern.find('{'); open != std::string_view::npos;
         open = pattern.find('{', open + 1)) {
        const auto name = pattern.substr(open + 1, pattern.find('}', open) - open - 1);
        names.emplace(name.substr(0, name.find(':')));
        names.emplace(name.substr(std::min(name.find(':') + 1, name.size())));
    }
    return names;
}

Value evidence_for(std::string_view pattern, std::string_view value) {
    Value evidence{Value::Object{{"node", Value{value}}}};
    for (const auto& name : names_in(pattern))
        evidence[name] = Value{value};
    return evidence;
}

/// The parts of a text that a reader might paste: the whole text, the parts after a colon or a
/// semicolon, and the parts in brackets. Parts without the value are left out, because they do not
/// depend on the machine.
void add_pastes(const std::string& text, std::set<std::string>& pastes) {
    const auto add = [&pastes](std::string_view paste) {
        if (paste.find(kMark) != std::string_view::npos)
            pastes.emplace(paste);
    };
    add(text);
    for (const std::string_view mark : {": ", "; ", "("})
        for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
            const auto rest = std::string_view{text}.substr(at + mark.size());
            add(rest);
            add(rest.substr(0, rest.rfind(mark == "(" ? ")" : "; ")));
        }
}

/// The templates of all fixes and commands that contain a value.
std::set<std::string> all_patterns() {
    std::set<std::string> patterns;
    for (const auto& cause : Causes::current().all())
        for (const auto& remedy : cause.fixes) {
            patterns.insert(remedy.fix.value_or(""));
            patterns.insert(remedy.run.begin(), remedy.run.end());
        }
    std::erase_if(patterns, [](const std::string& pattern) {
        return pattern.find('{') == std::string::npos;
    });
    return patterns;
}

/// All texts that are printed for this hostile value.
std::set<std::string> pastes_with(std::string_view value) {
    std::set<std::string> texts;
    const auto patterns = all_patterns();
    for (const auto& where : all_places()) {
        const Report report{.host = where.host};
        for (const bool is_root : {false, true}) {
            const Surroundings here{.is_root = is_root};
            const Place place{report, here};
            for (const auto& pattern : patterns) {
                const auto evidence = evidence_for(pattern, value);
                texts.insert(place.fix(pattern, evidence));
                if (auto command = place.command(pattern, evidence))
                    texts.insert(std::move(*command));
            }
        }
        for (const auto& wording : kWordings) {
            const Reason reason{.code = std::string{wording.code},
                                .detail = evidence_for(wording.fix, value)};
            texts.insert(explained(reason, {.machine = &report}).fix.value_or(""));
        }
    }
    std::set<std::string> pastes;
    for (const auto& text : texts) {
        EXPECT_EQ(text, scrubbed(text, text.size())) << "not on one line";
        add_pastes(text, pastes);
    }
    return pastes;
}

/// A folder with `touch`, and with programs that do nothing.
class Sandbox {
public:
    explicit Sandbox(const std::set<std::string>& pastes) {
        namespace fs = std::filesystem;
        fs::create_directories(folder_.path() + "/bin");
        for (const auto& paste : pastes)
            for (const auto word : words(paste))
                if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
                        std::string_view::npos &&
                    word != "touch")
                    add(std::string{word}, "/bin/true");
        add("touch", "/usr/bin/touch");
    }

    /// Whether one of the texts runs a hostile command, which creates the file CANARY.
    [[nodiscard]] bool is_escaped_by(const std::set<std::string>& pastes, const char* shell) const {
        std::ofstream file{folder_.path() + "/pastes", std::ios::trunc};
        for (const auto& paste : pastes)
            file << paste << '\n';
        file.close();
        const auto script = "cd '" + folder_.path() + "' && PATH='" + folder_.path() +
                            "/bin' && while IFS= read -r line; do (eval \"$line\") </dev/null; "
                            "done <pastes >/dev/null 2>&1";
        const auto command = std::string{shell} + " -c '" + escaped(script) + "' >/dev/null 2>&1";
        (void)std::system(command.c_str());
        return std::filesystem::exists(folder_.path() + "/CANARY");
    }

private:
    static std::string escaped(const std::string& text) {
        std::string quoted;
        for (const char c : text)
            quoted += c == '\'' ? std::string{R"('\'')"} : std::string{c};
        return quoted;
    }

    void add(const std::string& name, const char* program) const {
        std::error_code exists;
        std::filesystem::create_symlink(program, folder_.path() + "/bin/" + name, exists);
    }

    support::TemporaryFolder folder_;
};

TEST(Commands, AnUnquotedValueWouldBeSeen) {
    for (const auto* shell : {"dash", "bash"}) {
        const std::set<std::string> careless{"sudo usermod -aG $(touch CANARY) \"$USER\""};
        EXPECT_TRUE((Sandbox{careless}.is_escaped_by(careless, shell))) << shell;
    }
}

class HostileValue : public ::testing::TestWithParam<std::string_view> {};

TEST_P(HostileValue, RunsNothing) {
    const auto value = GetParam();
    const auto pastes = pastes_with(value);
    EXPECT_EQ(pastes.size() > 100, command_word(value).has_value()) << pastes.size();
    const Sandbox sandbox{pastes};
    for (const auto* shell : {"dash", "bash"})
        EXPECT_FALSE(sandbox.is_escaped_by(pastes, shell)) << shell << ": " << value;
}

INSTANTIATE_TEST_SUITE_P(Commands, HostileValue, ::testing::ValuesIn(kHostile));

TEST(Commands, AValueIsOneWordOrNone) {
    for (const auto value : kOdd) {
        const auto word = command_word(value);
        const bool may_be_word = !value.empty() && value.front() != '-' && scrubbed(value) == value;
        ASSERT_EQ(word.has_value(), may_be_word) << value;
        if (!word)
            continue;
        support::TemporaryFolder folder;
        for (const auto* shell : {"dash", "bash", "zsh -f", "fish --no-config"}) {
            if (std::system(
                    ("command -v " + std::string{shell}.substr(0, 4) + " >/dev/null").c_str()) != 0)
                continue;
            std::ofstream{folder.path() + "/script"} << "printf '<%s>' " << *word << "\n";
            const auto out = folder.path() + "/out";
            (void)std::system(
                (std::string{shell} + " " + folder.path() + "/script >" + out).c_str());
            std::ifstream file{out};
            const std::string printed{std::istreambuf_iterator<char>{file}, {}};
            EXPECT_EQ(printed, "<" + std::string{value} + ">") << shell;
        }
    }
}

}  // namespace commands_test
}  // namespace gpuprobe::testing_properties
