// SPDX-License-Identifier: Apache-2.0
#include "service/log_control.h"

#include "wire/errors.h"
#include "wire/names.h"

namespace gpuprobe::inline service {
namespace {

template <class Word>
Word word_from(const std::string& text) {
    const auto word = enum_from<Word>(text);
    if (!word)
        throw bus::make_error("org.freedesktop.DBus.Error.InvalidArgs", "unknown word");
    return *word;
}

}  // namespace

LogControl::LogControl(sdbus::IConnection& connection, Log& log)
    : AdaptorInterfaces{connection, sdbus::ObjectPath{bus::kLogControlPath}}, log_{log} {
    registerAdaptor();
}

LogControl::~LogControl() {
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

std::string LogControl::LogLevel() {
    return std::string{name_of(log_.level())};
}

void LogControl::LogLevel(const std::string& value) {
    bus::guard([&] { log_.set_level(word_from<gpuprobe::LogLevel>(value)); });
}

std::string LogControl::LogTarget() {
    return std::string{name_of(log_.target())};
}

void LogControl::LogTarget(const std::string& value) {
    bus::guard([&] { log_.set_target(word_from<gpuprobe::LogTarget>(value)); });
}

}  // namespace gpuprobe::inline service
