// SPDX-License-Identifier: Apache-2.0
#include "engine/redaction.h"

#include <gtest/gtest.h>

#include "base/value.h"

namespace gpuprobe::engine {
namespace redaction_test {

TEST(Redaction, NumbersUuidsAndKeepsEqualOnesEqual) {
    Redaction redaction;
    EXPECT_EQ(redaction.masked("GPU-80085d7a-5b7a-730a-fa19-3e8d3c64b84f,"
                               "80085D7A-5B7A-730A-FA19-3E8D3C64B84F"),
              "GPU-00000000-0000-4000-8000-000000000001,00000000-0000-4000-8000-000000000001");
    EXPECT_EQ(redaction.masked("12345678-1234-1234-1234-123456789abc"),
              "00000000-0000-4000-8000-000000000002");
}

TEST(Redaction, NumbersUniqueIds) {
    EXPECT_EQ(Redaction{}.masked("GPU-f08d1ef4ad0d2a3b\n"), "GPU-a000000000000001\n");
}

TEST(Redaction, NumbersTheDecimalUniqueIdOfKfdAlike) {
    Redaction redaction;
    EXPECT_EQ(redaction.masked("simd_count 304\nunique_id 17333131577230011963\nnum_xcc 1\n"),
              "simd_count 304\nunique_id 11529215046068469761\nnum_xcc 1\n");
    EXPECT_EQ(redaction.masked("GPU-f08ba755a9e6ae3b"), "GPU-a000000000000001");
    EXPECT_EQ(redaction.masked("unique_id 0\n"), "unique_id 0\n");
    EXPECT_EQ(redaction.masked("unique_id 99999999999999999999999"),
              "unique_id 99999999999999999999999");
}

TEST(Redaction, DoesNotChangeNumbersOfADocument) {
    Value document;
    document["at_usec"] = 1795227500330250;
    document["uuid"] = "GPU-80085d7a-5b7a-730a-fa19-3e8d3c64b84f";
    const auto clean = Redaction{}.masked_document(document);
    EXPECT_EQ(clean.at("at_usec"), document.at("at_usec"));
    EXPECT_EQ(*clean.at("uuid").as_string(), "GPU-00000000-0000-4000-8000-000000000001");
}

TEST(Redaction, KeepsFactsThatIdentifyNoCard) {
    for (const auto* text :
         {"0x0000104002000000 0x0000104002ffffff 0x000000000014220c",
          "pci:v000010DEd00002335sv000010DEsd000018BFbc03sc02i00", "0000:00:06.0", "1234567890123",
          "12345678-1234-1234-1234-123456789ab", "12345678-1234-1234-1234-123456789abcd", ""})
        EXPECT_EQ(Redaction{}.masked(text), text);
}

/// One identifier of each form. tests/integration/cli/redaction_test.py tests more identifiers, in
/// the output of a driver.
TEST(Redaction, ReplacesIdentifiersInDriverOutput) {
    const Identifiers known{.users = {"marta"},
                            .homes = {"/data/people/marta"},
                            .hosts = {"gpubox"},
                            .numbers = {"Quell Net", "PF3X"}};
    struct Row {
        const char* text;
        const char* masked;
    };
    for (const auto& [text, masked] : std::vector<Row>{
             {"GPU-80085d7a5b7a730afa193e8d3c64b84f", "GPU-00000000000040008000000000000001"},
             {"3c:7c:3f:1e:aa:51", "[address-1]"},
             {"aabbccddeefa", "[number-1]"},
             {"dsn 48-b0-2d-ff-ff-7b-9e-11.", "dsn [address-1]."},
             {"from 10.1.2.3:80", "from [address-1]:80"},
             {"[fe80::1%eth0]", "[[address-1]%eth0]"},
             {"a.b@example.org", "[email-1]"},
             {"https://u:p@h/x", "https://[host-1]/x"},
             {"node7.lab.example.com down", "[host-1] down"},
             {"GPUBOX.example.com", "host-1"},
             {"Marta's card", "user-1's card"},
             {"/data/people/marta/x", "/home/user-1/x"},
             {R"(C:\Users\marta\x)", R"(C:/home/user-1\x)"},
             {"joined quell net", "joined [number-1]"},
             {"of pf3x", "of [number-1]"},
             {"Board serial 1320921023434", "Board serial [value-1]"},
             {"NGC_API_KEY=abc", "NGC_API_KEY=[value-1]"},
             {"AWS_SECRET_ACCESS_KEY=a/b", "AWS_SECRET_ACCESS_KEY=[value-1]"},
             {R"({"serial": "a b"})", R"({"serial": "[value-1]"})"},
             {"password swordfish", "password [value-1]"},
             {"SSID 'Blue House' is", "SSID '[value-1]' is"},
             {"Authorization: Basic YTpi", "Authorization: [value-1]"},
             {"hf_abcdefghijkl", "[key-1]"},
             {"uid=1000(x)", "uid=[value-1])"},
             {"s4ewnx0r123456", "[number-1]"},
             {"SN1320921023434", "[number-1]"},
         })
        EXPECT_EQ((Redaction{known}.masked(text, TextKind::Prose)), masked) << text;
}

TEST(Redaction, KeepsTheNameOfTheFailedCall) {
    for (const auto* text :
         {"libcuda.so.1: cannot open shared object file: No such file or directory",
          "/usr/lib/x86_64-linux-gnu/libvulkan_radeon.so: undefined symbol: LLVMInitialize",
          "vkGetPhysicalDeviceProperties2KHR: VK_ERROR_INITIALIZATION_FAILED (-3)",
          "NVRM version 580.159.04, error 0xc0000005 on 0000:01:00.0", "gfx90a sm_120 x86_64-v3",
          "cuInit: CUDA_ERROR_NO_DEVICE (100)", "exited 1 without an answer in phase dlopen"})
        EXPECT_EQ(Redaction{}.masked(text, TextKind::Prose), text);
}

TEST(Redaction, KeepsNamesAndVersionsOfModels) {
    const Identifiers known{.users = {"nvidia"}, .hosts = {"vulkan"}};
    for (const auto* text :
         {"NVIDIA H100 80GB HBM3", "AMD Radeon RX 7900 XTX (RADV NAVI31)",
          "llvmpipe (LLVM 15.0.6, 256 bits)", "Mesa 24.1.0-devel (git-1a2b3c4d5e)",
          "/dev/dri/renderD128", "pci:0000:01:00.0", "VK_KHR_cooperative_matrix"})
        EXPECT_EQ((Redaction{known}.masked(text, TextKind::Fact)), text);
    EXPECT_EQ(Redaction{}.masked("1.4.1.3", TextKind::Version), "1.4.1.3");
}

TEST(Redaction, LeavesOutDriverOutput) {
    const auto probe = parse_json(R"({"stage": "query", "devices": [{"uuid": "GPU-card7",
        "name": "Fake", "undeclared": "x"}], "note": "no", "reasons": [
        {"code": "worker-output", "detail": {"lines": ["secret"]}},
        {"code": "api-refused", "detail": {"call": "cuInit"}}]})",
                                  kib(4));
    ASSERT_TRUE(probe);
    const auto without = Redaction{}.masked_probe(*probe);
    EXPECT_EQ(without.at("reasons").as_array()->size(), 1U);
    const auto& device = (*without.at("devices").as_array())[0];
    EXPECT_EQ(device.at("uuid"), Value{"[id-1]"});
    EXPECT_EQ(device.at("name"), Value{"Fake"});
    EXPECT_TRUE(device.at("undeclared").is_null());
    const auto with = Redaction{{}, true}.masked_probe(*probe);
    EXPECT_EQ(with.at("reasons").as_array()->size(), 2U);
}

/// A user may have the same name as the distribution, and WSL's kernel has a version with four
/// parts.
TEST(Redaction, KeepsFactsAboutTheHost) {
    const auto host = parse_json(R"({"kernel": "5.15.167.4-microsoft-standard-WSL2",
        "os_release": {"id": "ubuntu", "id_like": ["debian"]}, "container": "docker"})",
                                 kib(4));
    ASSERT_TRUE(host);
    const Identifiers known{.users = {"ubuntu", "docker"}};
    EXPECT_EQ((Redaction{known}.masked_document(*host)), *host);
}

/// Some drivers have their own names for errors.
TEST(Redaction, ShortensErrorsOfADriver) {
    struct Row {
        const char* note;
        const char* masked;
    };
    for (const auto& [note, masked] : std::vector<Row>{
             {"cuInit: card PF3XK9QZ of a user", "cuInit"},
             {"nvmlInit_v2: see x@example.org", "nvmlInit_v2"},
             {"cuInit: CUDA_ERROR_NO_DEVICE (100)", "cuInit: CUDA_ERROR_NO_DEVICE (100)"},
             {"nvmlInit_v2: Driver Not Loaded", "nvmlInit_v2: Driver Not Loaded"},
             {"dlopen: libx.so.1: cannot open shared object file",
              "dlopen: libx.so.1: cannot open shared object file"},
             {"exited 1 without an answer in phase dlopen",
              "exited 1 without an answer in phase dlopen"}}) {
        Value probe;
        probe["note"] = note;
        EXPECT_EQ(Redaction{}.masked_document(probe).at("note"), Value{masked});
        EXPECT_NE((Redaction{{}, true}.masked_document(probe).at("note")), Value{"cuInit"});
    }
}

TEST(Redaction, NumbersAccountsOfPeople) {
    const auto nodes = parse_json(R"({"/dev/a": {"uid": 0, "gid": 44, "group": "video", "acl":
        [{"tag": "user", "id": 98765, "mode": 6}]}, "/dev/b": {"uid": 98765, "gid": 98765,
        "group": "marta", "acl": []}})",
                                  kib(4));
    ASSERT_TRUE(nodes);
    const auto masked = Redaction{}.masked_nodes(*nodes);
    EXPECT_EQ(masked.at("/dev/a").at("group"), Value{"video"});
    EXPECT_EQ((*masked.at("/dev/a").at("acl").as_array())[0].at("id"), Value{1000});
    EXPECT_EQ(masked.at("/dev/b").at("uid"), Value{1000});
    EXPECT_EQ(masked.at("/dev/b").at("group"), Value{"1000"});
}

TEST(Redaction, LeavesUnknownUuidsUnknown) {
    const auto* none = "00000000-0000-0000-0000-000000000000";
    EXPECT_EQ(Redaction{}.masked(none), none);
}

}  // namespace redaction_test
}  // namespace gpuprobe::engine
