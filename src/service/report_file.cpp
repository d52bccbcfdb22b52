// SPDX-License-Identifier: Apache-2.0
#include "service/report_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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
    // Until the drivers were probed, the report is incomplete.
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

Result<UniqueFd> sealed_file(const char* name, std::string_view content) {
    UniqueFd file{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!file)
        return errno_error(name, errno);
    // A write may be interrupted or may stop early.
    while (!content.empty()) {
        const ssize_t written = ::write(file.get(), content.data(), content.size());
        if (written < 0 && errno != EINTR)
            return errno_error(name, errno);
        if (written > 0)
            content.remove_prefix(static_cast<std::size_t>(written));
    }
    // The last seal prevents the receiver from changing the seals.
    constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (::lseek(file.get(), 0, SEEK_SET) != 0 || ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
        return errno_error(name, errno);
    return file;
}

}  // namespace gpuprobe::inline service
