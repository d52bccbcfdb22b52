// SPDX-License-Identifier: Apache-2.0
#include "report/reason_table.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "report/outcome.h"
#include "support/places.h"

namespace gpuprobe {
namespace reason_table_test {

const std::string kSource = GPUPROBE_SOURCE_DIR;

std::string content(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from < text.size();) {
        const auto to = std::min(text.find(separator, from), text.size());
        parts.push_back(text.substr(from, to - from));
        from = to + separator.size();
    }
    return parts;
}

// The detail of a row has the form "have, need: bytes; of: the compared value".
struct Members {
    std::vector<std::string> names;
    std::string explanation;
};
std::vector<Members> members_of(const std::string& detail) {
    std::vector<Members> all;
    for (const auto& part : split(detail, "; ")) {
        const auto colon = std::min(part.find(": "), part.size());
        all.push_back(
            {split(part.substr(0, colon), ", "), part.substr(std::min(colon + 2, part.size()))});
    }
    return all;
}

std::set<std::string> names_in(const std::string& detail) {
    std::set<std::string> names;
    for (const auto& members : members_of(detail))
        names.insert(members.names.begin(), members.names.end());
    return names;
}

// The page ------------------------------------------------------------------------------------

const std::vector<std::pair<std::string, ReasonPlaces>> kSections = {
    {"view", ReasonPlaces::OnView},       {"candidate", ReasonPlaces::OnCandidate},
    {"plan", ReasonPlaces::OnPlan},       {"trial", ReasonPlaces::OnTrial},
    {"variant", ReasonPlaces::OnVariant}, {"recommendation", ReasonPlaces::OnRecommendation},
    {"gpu", ReasonPlaces::OnGpu},         {"report", ReasonPlaces::OnReport},
    {"node", ReasonPlaces::OnNode}};

bool is_at_home(const ReasonInfo& row, ReasonPlaces place) {
    const auto places = static_cast<unsigned>(row.places);
    return (places & (~places + 1)) == static_cast<unsigned>(place);
}

std::string subject_text(ReasonSubject subject) {
    constexpr const char* kWords[] = {"driver",  "worker", "permission", "hardware",    "device",
                                      "machine", "policy", "request",    "measurement", "report"};
    return kWords[static_cast<unsigned>(subject)];
}

std::string effect_text(ReasonEffect effect) {
    constexpr const char* kWords[] = {"remark", "open", "ends"};
    return kWords[static_cast<unsigned>(effect)];
}

std::string quoted(const std::vector<std::string>& codes) {
    std::string text;
    for (const auto& code : codes)
        text += (text.empty() ? "`" : ", `") + code + "`";
    return text;
}

std::string detail_text(const std::string& detail) {
    std::string text;
    for (const auto& members : members_of(detail))
        text += (text.empty() ? "" : "; ") + quoted(members.names) +
                (members.explanation.empty() ? "" : ": " + members.explanation);
    return text;
}

std::string line_of(const ReasonInfo& row) {
    const auto detail = detail_text(row.detail);
    return "| `" + std::string{row.code} + "` | " + subject_text(row.subject) + " | " +
           effect_text(row.effect) + " | " + row.meaning + " | " + detail +
           (detail.empty() ? "|\n" : " |\n");
}

std::string health_line() {
    std::vector<const ReasonInfo*> graver;
    for (const auto& row : reason_table())
        if (row.gravity != 0)
            graver.push_back(&row);
    std::ranges::sort(graver, std::ranges::greater{}, &ReasonInfo::gravity);
    std::vector<std::string> codes;
    for (const auto* row : graver)
        codes.emplace_back(row->code);
    return "\nFrom most to least serious: " + quoted(codes) +
           ". All other findings do not affect `health`.\n";
}

std::string section_of(ReasonPlaces place) {
    std::string lines;
    std::vector<std::string> others;
    for (const auto& row : reason_table())
        if (is_at_home(row, place))
            lines += line_of(row);
        else if (includes(row.places, place))
            others.emplace_back(row.code);
    if (!lines.empty())
        lines = "| code | about | effect | meaning | detail |\n| --- | --- | --- | --- | --- |\n" +
                lines;
    if (!others.empty())
        lines += (lines.empty() ? "" : "\nAlso here: ") + quoted(others) + ".\n";
    return lines + (place == ReasonPlaces::OnGpu ? health_line() : "");
}

std::string with_sections(std::string page) {
    for (const auto& [name, place] : kSections) {
        const auto mark = "<!-- reasons: " + name + " -->\n";
        const auto from = page.find(mark);
        if (from == std::string::npos)
            return "the page has no " + mark;
        const auto start = from + mark.size();
        page.replace(start, page.find("<!-- end -->", start) - start,
                     "\n" + section_of(place) + "\n");
    }
    return page;
}

TEST(ReasonsPage, IsMadeFromTheTable) {
    const auto path = kSource + "/docs/reasons.md";
    const auto wanted = with_sections(content(path));
    if (std::getenv("GPUPROBE_ACCEPT"))
        std::ofstream{path} << wanted;
    EXPECT_EQ(content(path), wanted)
        << "docs/reasons.md is out of date: run this with GPUPROBE_ACCEPT=1";
}

// The rows ------------------------------------------------------------------------------------

TEST(ReasonTable, FindsEachOfItsCodesAndNoOther) {
    for (const auto& row : reason_table())
        EXPECT_EQ(find_reason(row.code), &row) << row.code;
    for (const auto* code : {"", "a", "asleeq", "aslee", "asleep ", "zzz", "Asleep"})
        EXPECT_EQ(find_reason(code), nullptr) << code;
}

TEST(ReasonTable, ReadsTheWordOfTheLastVersion) {
    EXPECT_EQ(today_for("other-vendor"), "vendor-mismatch");
    EXPECT_EQ(today_for("vendor-mismatch"), "vendor-mismatch");
    EXPECT_EQ(today_for("of-tomorrow"), "of-tomorrow");
    EXPECT_EQ(today_for(""), "");
    const auto read = record_from<Reason>(to_value(Reason{.code = "other-vendor"}));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, because("vendor-mismatch"));
}

TEST(ReasonTable, HasCodesOfSmallLettersDigitsAndHyphens) {
    const std::regex form{"[a-z][a-z0-9]*(-[a-z0-9]+)*"};
    for (const auto& row : reason_table())
        EXPECT_TRUE(std::regex_match(std::string{row.code}, form)) << row.code;
}

TEST(ReasonTable, SaysWhatEachCodeMeansAndWhereItStands) {
    for (const auto& row : reason_table()) {
        EXPECT_NE(std::string{row.meaning}, "") << row.code;
        EXPECT_NE(static_cast<unsigned>(row.places), 0U) << row.code;
    }
}

TEST(ReasonTable, HasTraitsOnlyWhereTheyAreAskedFor) {
    const auto on_findings = ReasonTraits::Blocker | ReasonTraits::Cause | ReasonTraits::Unserved;
    const auto on_views = ReasonTraits::Refusal | ReasonTraits::Silence |
                          ReasonTraits::DriverFault | ReasonTraits::ViewCause;
    for (const auto& row : reason_table()) {
        const bool is_of_gpu = includes(row.traits, on_findings) || row.gravity != 0;
        EXPECT_TRUE(!is_of_gpu || includes(row.places, ReasonPlaces::OnGpu)) << row.code;
        const bool is_of_view = includes(row.traits, on_views);
        EXPECT_TRUE(!is_of_view || includes(row.places, ReasonPlaces::OnView)) << row.code;
        const bool is_refusal = includes(row.traits, ReasonTraits::Refusal);
        EXPECT_TRUE(!is_refusal || row.effect == ReasonEffect::Ends) << row.code;
        const bool is_silence = includes(row.traits, ReasonTraits::Silence);
        EXPECT_TRUE(!is_silence || row.effect == ReasonEffect::LeavesOpen) << row.code;
    }
}

// The sources ---------------------------------------------------------------------------------

// The text from the parenthesis that opens at `from` to the matching closing parenthesis.
std::string call_at(const std::string& text, std::size_t from) {
    int depth = 0;
    for (auto at = from; at < text.size(); ++at) {
        depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
        if (depth == 0)
            return text.substr(from, at - from);
    }
    return text.substr(from);
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
    const std::regex expression{pattern};
    std::set<std::string> found;
    for (std::sregex_iterator match{text.begin(), text.end(), expression}, end; match != end;
         ++match)
        found.insert((*match)[1]);
    return found;
}

TEST(ReasonTable, DeclaresTheDetailsThatTheSourcesGive) {
    const std::regex given{"because\\(\\s*\"([a-z0-9-]+)\""};
    std::size_t calls = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{kSource + "/src"}) {
        if (entry.path().extension() != ".cpp")
            continue;
        const auto text = content(entry.path());
        for (std::sregex_iterator match{text.begin(), text.end(), given}, end; match != end;
             ++match) {
            const auto code = (*match)[1].str();
            const auto* row = find_reason(code);
            ASSERT_NE(row, nullptr) << code;
            auto declared = names_in(row->detail);
            if (includes(row->places, ReasonPlaces::OnVariant))
                declared.merge(names_in(kVariantDetail));
            const auto open = static_cast<std::size_t>(match->position()) + sizeof "because" - 1;
            for (const auto& member : matches(call_at(text, open), "\\{\"([a-z_]+)\","))
                EXPECT_TRUE(declared.contains(member))
                    << entry.path() << ": " << code << " has no " << member << " in its row";
            ++calls;
        }
    }
    EXPECT_GT(calls, 60U);
}

}  // namespace reason_table_test
}  // namespace gpuprobe
