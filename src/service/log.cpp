// SPDX-License-Identifier: Apache-2.0
#include "service/log.h"

#include <cstdio>
#include <cstdlib>

#define SD_JOURNAL_SUPPRESS_LOCATION  // the location would always be this file
#include <systemd/sd-journal.h>

#include "base/text.h"

namespace gpuprobe::inline service {
namespace {

constexpr std::size_t kMaxEntry = 4096;

/// Writes "IDENTIFIER: LEVEL: TEXT" to stderr.
void to_console(LogLevel level, const std::string& identifier, const std::string& text) {
    const auto word = name_of(level);
    std::fprintf(stderr, "%s: %.*s: %s\n", identifier.c_str(), static_cast<int>(word.size()),
                 word.data(), text.c_str());
}

}  // namespace

void Log::write(LogLevel level, std::string_view text) const {
    if (level > level_ || target_ == LogTarget::Null)  // higher values are less important
        return;
    const auto entry = scrubbed(text, kMaxEntry);
    // If the journal does not accept the entry, write it to stderr.
    if (target_ == LogTarget::Journal) {
        const int sent =
            sd_journal_send("MESSAGE=%s", entry.c_str(), "PRIORITY=%d", static_cast<int>(level),
                            "SYSLOG_IDENTIFIER=%s", identifier_.c_str(), nullptr);
        if (sent == 0)
            return;
    }
    to_console(level, identifier_, entry);
}

LogTarget Log::usual_target() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    return stream != nullptr && *stream != '\0' ? LogTarget::Journal : LogTarget::Console;
}

}  // namespace gpuprobe::inline service
