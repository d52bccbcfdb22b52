// SPDX-License-Identifier: Apache-2.0
#include "wire/sdbus.h"

#include <new>
#include <stdexcept>

#include <gtest/gtest.h>

namespace gpuprobe::bus {
namespace sdbus_test {

TEST(ErrorNames, LeadBackToTheirCode) {
    for (int code = 0; code <= static_cast<int>(ErrorCode::Internal); ++code)
        EXPECT_EQ(error_code(error_name(ErrorCode{code})), ErrorCode{code});
}

TEST(ErrorNames, AreTheDocumentedOnes) {
    EXPECT_EQ(error_name(ErrorCode::UnknownDevice), "org.gpuprobe.GpuProbe1.Error.NoSuchGpu");
    EXPECT_EQ(error_name(ErrorCode::NoMatch), "org.gpuprobe.GpuProbe1.Error.NoMatch");
    EXPECT_EQ(error_name(ErrorCode::WouldWake), "org.gpuprobe.GpuProbe1.Error.WouldWake");
}

TEST(ErrorNames, OfOthersHaveNoCode) {
    EXPECT_FALSE(error_code("NoMatch"));
    EXPECT_FALSE(error_code("org.gpuprobe.GpuProbe1.Error."));
    EXPECT_FALSE(error_code("org.gpuprobe.GpuProbe1.Error.Nonsense"));
}

TEST(ErrorFrom, TellsNobodyThereFromForbidden) {
    const auto code_of = [](const char* name) { return error_from(make_error(name, "x")).code; };
    EXPECT_EQ(code_of("org.freedesktop.DBus.Error.ServiceUnknown"), ErrorCode::Unavailable);
    EXPECT_EQ(code_of("org.freedesktop.DBus.Error.AccessDenied"), ErrorCode::NotAuthorized);
    EXPECT_EQ(code_of("com.example.Other"), ErrorCode::Internal);
    EXPECT_EQ(code_of("org.gpuprobe.GpuProbe1.Error.NoMatch"), ErrorCode::NoMatch);
}

TEST(ErrorFrom, ADaemonThatCannotBeStartedIsNotThere) {
    for (const char* name :
         {"org.freedesktop.DBus.Error.TimedOut", "org.freedesktop.DBus.Error.Spawn.ChildExited",
          "org.freedesktop.DBus.Error.Spawn.ServiceNotFound", "org.freedesktop.systemd1.LoadFailed",
          "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.systemd1.UnitMasked"})
        EXPECT_EQ(error_from(make_error(name, "x")).code, ErrorCode::Unavailable) << name;
}

TEST(Guard, LetsNothingOutButBusErrors) {
    const auto name_of_thrown = [](const auto& body) -> std::string {
        try {
            guard(body);
        } catch (const sdbus::Error& error) {
            return error.getName();
        }
        return "none";
    };
    const auto internal = error_name(ErrorCode::Internal);
    EXPECT_EQ(name_of_thrown([] { throw std::runtime_error{"x"}; }), internal);
    EXPECT_EQ(name_of_thrown([] { throw std::bad_alloc{}; }), internal);
    EXPECT_EQ(name_of_thrown([] { throw 7; }), internal);
    EXPECT_EQ(name_of_thrown([] { throw make_error("a.b", "x"); }), "a.b");
    EXPECT_EQ(name_of_thrown([] {}), "none");
}

TEST(SdbusError, HasItsNameAndNoBadBytes) {
    const auto error = sdbus_error(Error{ErrorCode::UnknownApplication, "x\xff"});
    EXPECT_EQ(std::string{error.getName()}, "org.gpuprobe.GpuProbe1.Error.UnknownApplication");
    EXPECT_EQ(error.getMessage(), "x\xEF\xBF\xBD");
}

}  // namespace sdbus_test
}  // namespace gpuprobe::bus
