// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "knowledge/chips.h"
#include "knowledge/drivers.h"
#include "knowledge/places.h"
#include "knowledge/selectors.h"
#include "plan/model.h"
#include "policy/application_set.h"
#include "policy/causes.h"
#include "report/report.h"

/// read_documents KIND: passes documents of one kind, one per line of standard input, to gpuprobe's
/// reader. Prints one line per document: empty if the reader accepts the document, otherwise the
/// error.
namespace {

using Read = std::function<std::string(const std::string&)>;

template <class Reader>
Read reader(Reader read) {
    return [read](const std::string& text) {
        const auto result = read(text);
        return result ? std::string{} : result.error().text;
    };
}

const std::map<std::string, Read>& readers() {
    using namespace gpuprobe;
    static const std::map<std::string, Read> all = {
        {"causes", reader([](const auto& text) { return Causes{}.add(text); })},
        {"application", reader([](const auto& text) { return parse_application(text); })},
        {"chips", reader([](const auto& text) { return knowledge::Chips::from(text); })},
        {"contexts", reader([](const auto& text) { return knowledge::Contexts::from(text); })},
        {"distributions", reader([](const auto& text) { return knowledge::Places::from(text); })},
        {"drivers", reader([](const auto& text) { return knowledge::Drivers::from(text); })},
        {"model", reader([](const auto& text) { return model_from_document(text); })},
        {"report", reader([](const auto& text) { return parse_report(text); })},
        {"selectors", reader([](const auto& text) { return knowledge::Selectors::from(text); })},
        {"setup", reader([](const auto& text) { return knowledge::SetupWords::from(text); })},
        {"variants", reader([](const auto& text) { return parse_manifest(text); })}};
    return all;
}

}  // namespace

int main(int count, char** arguments) {
    const auto found = readers().find(count == 2 ? arguments[1] : "");
    if (found == readers().end()) {
        std::cerr << "Usage: read_documents KIND\n";
        return 2;
    }
    for (std::string line; std::getline(std::cin, line);) {
        auto problem = found->second(line);
        for (auto& letter : problem)
            if (letter == '\n')
                letter = ' ';
        std::cout << problem << '\n';
    }
    return 0;
}
