// SPDX-License-Identifier: Apache-2.0
#include "service/report_file.h"

#include "base/files.h"
#include "base/version.h"
#include "explain/doctor.h"
#include "export/formats.h"

namespace gpuprobe::inline service {

ReportFile::ReportFile(std::string path, const engine::Engine& engine, Log& log)
    : path_{std::move(path)}, engine_{engine}, log_{log} {
    if (auto rules = Rules::builtin())
        rules_ = std::move(rules).value();
}

void ReportFile::update() {
    const auto& report = engine_.report();
    if (report.state == ReportState::Starting || report.state == ReportState::Probing)
        return;
    const auto exported = write_json({.report = report,
                                      .rules = rules_,
                                      .version = std::string{kVersion},
                                      .findings = summary_of(examine(report, {}))});
    if (!exported.text || says_the_same(*exported.text, written_))
        return;
    if (const auto written = write_atomically(path_, *exported.text); !written)
        return log_.write(LogLevel::Warning, written.error().text);
    written_ = *exported.text;
}

}  // namespace gpuprobe::inline service
