// SPDX-License-Identifier: Apache-2.0
#include "watch/processes.h"

#include <string>

#include <gtest/gtest.h>

namespace gpuprobe::watch {
namespace processes_test {

DrmClient client_of(const std::string& lines) {
    const auto client =
        drm_client_from("pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t77\n" + lines);
    EXPECT_TRUE(client) << lines;
    return client.value_or(DrmClient{});
}

constexpr PciAddress kCard{.bus = 3};
constexpr PciAddress kIntel{.device = 2};

TEST(DrmClientTest, ReadsAmdgpuWithTheNamesOfEveryDriver) {
    const auto client = client_of(
        "drm-driver:\tamdgpu\ndrm-client-id:\t544\ndrm-pdev:\t0000:03:00.0\npasid:\t32770\n"
        "drm-total-vram:\t4096 MiB\ndrm-shared-vram:\t8 KiB\ndrm-resident-vram:\t4000 MiB\n"
        "drm-purgeable-vram:\t768 KiB\ndrm-total-gtt:\t16 MiB\ndrm-resident-gtt:\t16 MiB\n"
        "drm-total-cpu:\t9 MiB\ndrm-resident-cpu:\t9 MiB\ndrm-memory-vram:\t4000 MiB\n"
        "drm-memory-gtt: \t16384 KiB\ndrm-memory-cpu: \t9216 KiB\namd-evicted-vram:\t98304 KiB\n"
        "drm-engine-gfx:\t10781351614 ns\ndrm-engine-compute:\t0 ns\n");
    EXPECT_EQ(client, (DrmClient{.driver = "amdgpu",
                                 .pci = kCard,
                                 .id = 544,
                                 .on_device = mib(4000),
                                 .in_host = mib(16),
                                 .has_worked = true}));
}

TEST(DrmClientTest, ReadsAmdgpuOfLinux61WhichHasOlderNamesAndNoEngineBeforeItHasWorked) {
    const auto client = client_of(
        "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t550\n"
        "drm-memory-vram:\t23048 KiB\ndrm-memory-gtt: \t80128 KiB\ndrm-memory-cpu: \t0 KiB\n");
    EXPECT_EQ(client.on_device, kib(23048));
    EXPECT_EQ(client.in_host, kib(80128));
    EXPECT_EQ(client.has_worked, std::nullopt);
}

TEST(DrmClientTest, ReadsI915WithoutAndWithMemoryOfItsOwn) {
    const auto integrated = client_of(
        "drm-driver:\ti915\ndrm-client-id:\t39\ndrm-pdev:\t0000:00:02.0\n"
        "drm-total-system0:\t6044 KiB\ndrm-active-system0:\t0\ndrm-resident-system0:\t6040 KiB\n"
        "drm-total-stolen-system0:\t0\ndrm-resident-stolen-system0:\t0\n"
        "drm-engine-render:\t0 ns\ndrm-engine-copy:\t0 ns\ndrm-engine-capacity-video:\t2\n");
    EXPECT_EQ(integrated.pci, kIntel);
    EXPECT_EQ(integrated.on_device, std::nullopt);
    EXPECT_EQ(integrated.in_host, kib(6040));
    EXPECT_EQ(integrated.has_worked, false) << "a capacity is not a time";
    const auto discrete = client_of(
        "drm-driver:\ti915\ndrm-client-id:\t11\ndrm-pdev:\t0000:03:00.0\n"
        "drm-resident-local0:\t512 MiB\ndrm-resident-stolen-local0:\t8 MiB\n"
        "drm-resident-system0:\t2048 KiB\ndrm-engine-render:\t500 ns\n");
    EXPECT_EQ(discrete.on_device, mib(520));
    EXPECT_EQ(discrete.in_host, kib(2048));
    EXPECT_EQ(discrete.has_worked, true);
}

TEST(DrmClientTest, DoesNotTakeTheClockOfXeForMemoryOrWork) {
    const auto idle = client_of(
        "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n"
        "drm-total-gtt:\t192 KiB\ndrm-resident-gtt:\t192 KiB\ndrm-total-vram0:\t23992 KiB\n"
        "drm-resident-vram0:\t16000 KiB\ndrm-cycles-rcs:\t0\ndrm-total-cycles-rcs:\t7655183225\n");
    EXPECT_EQ(idle.on_device, kib(16000));
    EXPECT_EQ(idle.in_host, kib(192));
    EXPECT_EQ(idle.has_worked, false);
    EXPECT_EQ(
        client_of("drm-driver:\txe\ndrm-cycles-ccs:\t1\ndrm-total-cycles-ccs:\t9\n").has_worked,
        true);
}

TEST(DrmClientTest, ReadsDriversOfBoardsWhichHaveNoAddress) {
    const auto panfrost = client_of(
        "drm-driver:\tpanfrost\ndrm-client-id:\t14\ndrm-engine-fragment:\t1846584880 ns\n"
        "drm-cycles-fragment:\t1424359409\ndrm-maxfreq-fragment:\t799999987 Hz\n"
        "drm-curfreq-fragment:\t799999987 Hz\ndrm-total-memory:\t290 MiB\n"
        "drm-shared-memory:\t0 MiB\ndrm-active-memory:\t226 MiB\ndrm-resident-memory:\t36496 KiB\n"
        "drm-purgeable-memory:\t128 KiB\n");
    EXPECT_EQ(
        panfrost,
        (DrmClient{.driver = "panfrost", .id = 14, .in_host = kib(36496), .has_worked = true}));
    const auto msm = client_of(
        "drm-driver:\tmsm\ndrm-client-id:\t7\ndrm-engine-gpu:\t1734371319 ns\n"
        "drm-cycles-gpu:\t1153645024\ndrm-maxfreq-gpu:\t800000000 Hz\n");
    EXPECT_EQ(msm, (DrmClient{.driver = "msm", .id = 7, .has_worked = true}));
}

TEST(DrmClientTest, KnowsNothingOfADriverThatTellsNothing) {
    const auto nouveau = client_of("drm-driver:\tnouveau\ndrm-client-id:\t4\n");
    EXPECT_EQ(nouveau, (DrmClient{.driver = "nouveau", .id = 4}));
    EXPECT_EQ(drm_client_from("pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t77\n"), std::nullopt);
    EXPECT_EQ(drm_client_from(""), std::nullopt);
}

TEST(DrmClientTest, TakesNoNumberThatIsNone) {
    for (const auto* value : {"18446744073709551616", "99999999999999999999999 KiB",
                              "18446744073709551615 KiB", "-1", "1 GiB", "1 KiB more", "", "KiB"}) {
        const auto client =
            client_of("drm-driver:\tamdgpu\ndrm-resident-vram:\t" + std::string{value} + "\n");
        EXPECT_EQ(client.on_device, std::nullopt) << value;
    }
    const auto most = client_of(
        "drm-driver:\tx\ndrm-resident-vram0:\t18446744073709551615\ndrm-resident-vram1:\t5\n");
    EXPECT_EQ(most.on_device, Bytes{18446744073709551615U});
}

TEST(DrmClientTest, TakesWhatIsCutOffAnywhereAndRegionsWithoutEnd) {
    const std::string whole =
        "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t544\n"
        "drm-resident-vram:\t4000 MiB\ndrm-engine-gfx:\t10781351614 ns\n";
    for (std::size_t size = 0; size <= whole.size(); ++size)
        (void)drm_client_from(std::string_view{whole}.substr(0, size));
    std::string endless = "drm-driver:\tx\n";
    for (int region = 0; region < 10000; ++region)
        endless += "drm-resident-vram" + std::to_string(region) + ":\t1\n";
    EXPECT_EQ(client_of(endless).on_device, Bytes{64});
}

}  // namespace processes_test
}  // namespace gpuprobe::watch
