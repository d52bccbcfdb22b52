// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <org.freedesktop.LogControl1.adaptor.h>

#include "service/log.h"
#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// `systemctl service-log-level`. The bus lets only root and our own user write.
/// Source: org.freedesktop.LogControl1(5).
class LogControl final : public sdbus::AdaptorInterfaces<org::freedesktop::LogControl1_adaptor> {
public:
    LogControl(sdbus::IConnection& connection, Log& log);
    ~LogControl();

private:
    std::string LogLevel() override;
    void LogLevel(const std::string& value) override;
    std::string LogTarget() override;
    void LogTarget(const std::string& value) override;
    std::string SyslogIdentifier() override { return log_.identifier(); }

    Log& log_;
};

}  // namespace gpuprobe::inline service
