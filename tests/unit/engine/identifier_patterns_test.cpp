// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "engine/redaction.h"
#include "support/case_name.h"

namespace gpuprobe::engine {
namespace identifier_patterns_test {

const Identifiers kKnown{.users = {"marta", "intel"},
                         .homes = {"/data/people/marta"},
                         .hosts = {"gpubox", "mesa"},
                         .numbers = {"PF3X", "Quell Net"}};

constexpr auto kKinds = {TextKind::Kernel, TextKind::Version, TextKind::Fact, TextKind::Prose};

/// "kvfp", with a dash for each kind of text that has no identifier at that position.
std::string kinds_of(std::string_view text, std::size_t at) {
    constexpr std::string_view kLetters = "kvfp";
    std::string kinds;
    for (const auto kind : kKinds)
        kinds += identifier_at(text, at, kind, kKnown) ? kLetters[kinds.size()] : '-';
    return kinds;
}

/// The position of the first identifier in the text; npos if it has none.
std::size_t first_in(std::string_view text, TextKind kind) {
    for (std::size_t at = 0; at < text.size(); ++at)
        if (identifier_at(text, at, kind, kKnown))
            return at;
    return std::string_view::npos;
}

// Text that is found ------------------------------------------------------------------------------

/// An identifier between two strings. The label is kept.
struct GoodRow {
    const char* name;
    const char* before;
    const char* label;
    const char* found;
    const char* after;
    StandIn form;
    const char* word;
    const char* identifier;
    const char* kinds;
};
class Identifier : public ::testing::TestWithParam<GoodRow> {};

TEST_P(Identifier, IsFoundWithItsLengthAndForm) {
    const auto& row = GetParam();
    const std::string match = std::string{row.label} + row.found;
    const auto text = row.before + match + row.after;
    const auto at = std::string_view{row.before}.size();
    EXPECT_EQ(kinds_of(text, at), row.kinds);
    for (const auto kind : kKinds) {
        const auto found = identifier_at(text, at, kind, kKnown);
        if (!found)
            continue;
        EXPECT_EQ(found->length, match.size());
        EXPECT_EQ(found->kept, std::string_view{row.label}.size());
        EXPECT_EQ(found->form, row.form);
        EXPECT_EQ(found->word, row.word);
        EXPECT_EQ(found->identifier, row.identifier);
    }
}

constexpr const char* kUuid = "80085D7A-5b7a-730a-fa19-3e8d3c64b84f";
constexpr const char* kPlainUuid = "80085d7a5b7a730afa193e8d3c64b84f";

INSTANTIATE_TEST_SUITE_P(
    Cards,
    Identifier,
    ::testing::Values(
        GoodRow{"Uuid", "GPU-", "", kUuid, "\n", StandIn::Uuid, "", kPlainUuid, "kvfp"},
        GoodRow{"PlainUuid", "id ", "", kPlainUuid, ".", StandIn::PlainUuid, "", kPlainUuid,
                "--fp"},
        GoodRow{"UniqueId", "GPU-", "", "F08d1ef4ad0d2a3b", "\n", StandIn::UniqueId, "",
                "f08d1ef4ad0d2a3b", "kvfp"},
        GoodRow{"UniqueIdWithPrefix", "at ", "0x", "f08d1ef4ad0d2a3b", "", StandIn::UniqueId, "",
                "f08d1ef4ad0d2a3b", "--fp"},
        GoodRow{"DecimalUniqueId", "unique_id ", "", "17333131577230011963", "\n",
                StandIn::DecimalUniqueId, "", "f08ba755a9e6ae3b", "kvfp"},
        GoodRow{"SerialNumber", "", "Serial number: ", "1320A4", ",", StandIn::Word, "value",
                "1320a4", "k-fp"},
        GoodRow{"KnownNumber", "tag ", "", "pf3x", " ", StandIn::Word, "number", "pf3x", "kvfp"},
        GoodRow{"LikeASerialNumber", "card ", "", "PF3XY1234Z", ".", StandIn::Word, "number",
                "pf3xy1234z", "---p"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Machines,
    Identifier,
    ::testing::Values(
        GoodRow{"Mac", "eth0 ", "", "00:1A:2b:cc:dd:ee", "\n", StandIn::Word, "address",
                "001a2bccddee", "kvfp"},
        GoodRow{"MacWithDashes", "", "", "00-1a-2b-cc-dd-ee", "", StandIn::Word, "address",
                "001a2bccddee", "kvfp"},
        GoodRow{"MacOfASwitch", "port ", "", "001a.2bcc.ddee", " ", StandIn::Word, "address",
                "001a2bccddee", "---p"},
        GoodRow{"Ipv4", "from ", "", "10.0.0.255", ":", StandIn::Word, "address", "1000255",
                "--fp"},
        GoodRow{"Ipv6", "from ", "", "fe80::1", " ", StandIn::Word, "address", "fe801", "--fp"},
        GoodRow{"WholeIpv6", "", "", "1:2:3:4:5:6:7:8", "", StandIn::Word, "address", "12345678",
                "--fp"},
        GoodRow{"KnownHost", "on ", "", "gpubox", " up", StandIn::Name, "host", "gpubox", "-vfp"},
        GoodRow{"KnownHostWithDomain", "on ", "", "gpubox.lab.example", " up", StandIn::Name,
                "host", "gpubox", "-vfp"},
        GoodRow{"Host", "to ", "", "gpu7.lab.example.com", ".", StandIn::Word, "host",
                "gpu7labexamplecom", "---p"},
        GoodRow{"HostInAKnownDomain", "to ", "", "printer.local", "", StandIn::Word, "host",
                "printerlocal", "---p"},
        GoodRow{"Authority", "https://", "", "u:p@e:80", "/x", StandIn::Word, "host", "up@e80",
                "--fp"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    People,
    Identifier,
    ::testing::Values(
        GoodRow{"Email", "by ", "", "a.b@example.com", ">", StandIn::Word, "email", "ab@examplecom",
                "kvfp"},
        GoodRow{"KnownUser", "by ", "", "Marta", "'s", StandIn::Name, "user", "user marta", "-vfp"},
        GoodRow{"KnownHome", "in ", "", "/data/people/marta", "/x", StandIn::Home, "user",
                "user marta", "kvfp"},
        GoodRow{"Home", "in ", "", "/home/Ann", "/x", StandIn::Home, "user", "user ann", "kvfp"},
        GoodRow{"HomeOfRoot", "in ", "", "/root", "/x", StandIn::Home, "user", "user root", "kvfp"},
        GoodRow{"RuntimeFolder", "in ", "/run/user/", "1000", "/x", StandIn::Name, "user",
                "user 1000", "kvfp"},
        GoodRow{"Slice", "/", "", "user-1000", ".slice", StandIn::Name, "user", "user 1000",
                "kvfp"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(Secrets,
                         Identifier,
                         ::testing::Values(GoodRow{"Token", "", "token=", "abc", " x",
                                                   StandIn::Word, "value", "abc", "k-fp"},
                                           GoodRow{"Quoted", "\"", "apikey\": \"", "a b", "\"",
                                                   StandIn::Word, "value", "ab", "--fp"},
                                           GoodRow{"PasswordWithSpaces", "", "password: ", "a b",
                                                   "\nx", StandIn::Word, "value", "ab", "k-fp"},
                                           GoodRow{"NamedKey", "with ", "", "hf_abcdefgh", " ",
                                                   StandIn::Word, "key", "hf_abcdefgh", "--fp"},
                                           GoodRow{"Base64", "with ", "", "aGVsbG8gd29ybGQh_Q12Zz",
                                                   " ", StandIn::Word, "key",
                                                   "agvsbg8gd29ybgqh_q12zz", "---p"}),
                         support::case_name);

// Text that is not found --------------------------------------------------------------------------

struct PlainRow {
    const char* name;
    TextKind kind;
    const char* text;
};
class PlainText : public ::testing::TestWithParam<PlainRow> {};

TEST_P(PlainText, HasNoIdentifier) {
    EXPECT_EQ(first_in(GetParam().text, GetParam().kind), std::string_view::npos);
}

constexpr auto kKernel = TextKind::Kernel;
constexpr auto kVersion = TextKind::Version;
constexpr auto kFact = TextKind::Fact;
constexpr auto kProse = TextKind::Prose;

INSTANTIATE_TEST_SUITE_P(
    Table,
    PlainText,
    ::testing::Values(PlainRow{"Nothing", kProse, ""},
                      PlainRow{"PciResource", kKernel,
                               "0x0000104002000000 0x0000104002ffffff 0x000000000014220c"},
                      PlainRow{"PciAddress", kKernel, "0000:00:06.0"},
                      PlainRow{"PciAddressInProse", kProse, "pci:0000:00:06.0"},
                      PlainRow{"Modalias", kKernel,
                               "pci:v000010DEd00002335sv000010DEsd000018BFbc03sc02i00"},
                      PlainRow{"ZeroUuid", kProse, "00000000-0000-0000-0000-000000000000"},
                      PlainRow{"AllOneUuid", kProse, "ffffffff-ffff-ffff-ffff-ffffffffffff"},
                      PlainRow{"ShortUuid", kKernel, "12345678-1234-1234-1234-123456789ab"},
                      PlainRow{"LongUuid", kKernel, "12345678-1234-1234-1234-123456789abcd"},
                      PlainRow{"ZeroUniqueId", kKernel, "unique_id 0"},
                      PlainRow{"UniqueIdTooLarge", kKernel, "unique_id 99999999999999999999999"},
                      PlainRow{"BroadcastMac", kKernel, "ff:ff:ff:ff:ff:ff"},
                      PlainRow{"FivePairs", kKernel, "00:11:22:aa:bb"},
                      PlainRow{"Version", kVersion, "580.159.04"},
                      PlainRow{"FourPartVersion", kVersion, "31.0.101.5186"},
                      PlainRow{"FivePartNumber", kFact, "1.2.3.4.5"},
                      PlainRow{"OctetTooLarge", kFact, "10.0.0.256"},
                      PlainRow{"Time", kProse, "12:30:45"},
                      PlainRow{"Scope", kProse, "std::move"},
                      PlainRow{"FileName", kProse, "libcuda.so.1"},
                      PlainRow{"Member", kProse, "device.name"},
                      PlainRow{"Function", kProse, "vkGetPhysicalDeviceProperties2KHR"},
                      PlainRow{"LabelWithoutAValue", kProse, "part 2 of the serial port"},
                      PlainRow{"LabelWithinAWord", kProse, "partial keyboard"},
                      PlainRow{"ReplacedValue", kProse, "serial: [value-1]"},
                      PlainRow{"ShortNumber", kProse, "1234567"},
                      PlainRow{"VendorAsUser", kProse, "intel mesa"},
                      PlainRow{"UserWithinAWord", kProse, "smarta martas"},
                      PlainRow{"SystemUser", kKernel, "/run/user/100"},
                      PlainRow{"FolderOfAllHomes", kKernel, "/home/ /rooted /x/root"},
                      PlainRow{"ShortKey", kProse, "hf_a sk-1"}),
    support::case_name);

TEST(Identifiers, AreFoundCutAtAnyByteWithoutLeavingTheText) {
    const std::string whole =
        "GPU-80085d7a-5b7a-730a-fa19-3e8d3c64b84f marta@gpubox.lab.example.com 00:1a:2b:cc:dd:ee "
        "/home/ann token = \"x\" serial number 1320A4 https://u:p@e/ fe80::1 10.0.0.1";
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        const std::string cut = whole.substr(0, size);
        for (std::size_t at = 0; at < size; ++at)
            for (const auto kind : kKinds)
                if (const auto found = identifier_at(cut, at, kind, kKnown)) {
                    EXPECT_GT(found->length, 0U) << cut;
                    EXPECT_LE(at + found->length, size) << cut;
                    EXPECT_LE(found->kept, found->length) << cut;
                }
    }
}

}  // namespace identifier_patterns_test
}  // namespace gpuprobe::engine
