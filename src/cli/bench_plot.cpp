// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_plot.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/parse.h"
#include "cli/rates.h"

namespace gpuprobe {
namespace {

constexpr int kWidth = 900;
constexpr int kMargin = 24;
constexpr int kLabelWidth = 300;
constexpr int kValueWidth = 90;
constexpr int kBarHeight = 16;
constexpr int kRowGap = 14;
constexpr int kPanelGap = 40;
constexpr int kTitleHeight = 34;
constexpr std::size_t kMaxLabel = 42;

struct Figure {
    std::string_view name;
    std::optional<std::uint64_t> Measurement::*member;
    std::string_view colour;  ///< distinct also in shades of grey
};
struct Panel {
    std::string_view title;
    std::string_view unit;
    std::span<const Figure> figures;
};
constexpr std::array<Figure, 2> kBandwidth{{{"read", &Measurement::memory_read, "#1f5f8b"},
                                            {"copy", &Measurement::memory_copy, "#8fbcdb"}}};
constexpr std::array<Figure, 3> kArithmetic{{{"fp32", &Measurement::fp32, "#8a3b12"},
                                             {"fp16", &Measurement::fp16, "#d9893b"},
                                             {"int8", &Measurement::int8, "#f0cd95"}}};
constexpr std::array<Panel, 2> kPanels{
    {{"Memory bandwidth", "B/s", kBandwidth}, {"Arithmetic", "op/s", kArithmetic}}};

std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else
            safe += c;
    }
    return safe;
}

std::string text_at(int x, int y, std::string_view text, std::string_view more = "") {
    return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, more, escaped(text));
}

std::string label_of(const BenchRow& row) {
    const auto name = row.name ? scrubbed(*row.name) : row.kind;
    return scrubbed(fmt::format("{}, {}", row.backend, name), kMaxLabel);
}

std::vector<const BenchRow*> with_any(const std::vector<BenchRow>& rows, const Panel& panel) {
    std::vector<const BenchRow*> shown;
    for (const auto& row : rows)
        if (row.measurement && std::ranges::any_of(panel.figures, [&](const Figure& figure) {
                return ((*row.measurement).*figure.member).has_value();
            }))
            shown.push_back(&row);
    return shown;
}

double largest(const std::vector<const BenchRow*>& rows, const Panel& panel) {
    std::uint64_t most = 1;
    for (const auto* row : rows)
        for (const auto& figure : panel.figures)
            most = std::max(most, ((*row->measurement).*figure.member).value_or(0));
    return static_cast<double>(most);
}

class Drawing {
public:
    void add(const Panel& panel, const std::vector<BenchRow>& rows) {
        const auto shown = with_any(rows, panel);
        if (shown.empty())
            return;
        add_title(panel);
        const auto scale =
            (kWidth - 2 * kMargin - kLabelWidth - kValueWidth) / largest(shown, panel);
        for (const auto* row : shown)
            add_bars(*row, panel, scale);
        y_ += kPanelGap - kRowGap;
    }

    [[nodiscard]] std::string document() const {
        return fmt::format(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
            "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"13\" "
            "fill=\"#222222\">\n"
            "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{2}</svg>\n",
            kWidth, y_, body_);
    }

private:
    void add_title(const Panel& panel) {
        body_ += text_at(kMargin, y_ + 14, fmt::format("{}, {}", panel.title, panel.unit),
                         " font-size=\"16\" font-weight=\"bold\"");
        int x = kMargin + kLabelWidth;
        for (const auto& figure : panel.figures) {
            body_ +=
                fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x,
                            y_ + 3, figure.colour);
            body_ += text_at(x + 17, y_ + 14, figure.name);
            x += 75;
        }
        y_ += kTitleHeight;
    }

    void add_bars(const BenchRow& row, const Panel& panel, double scale) {
        body_ += text_at(kMargin, y_ + 12, label_of(row));
        for (const auto& figure : panel.figures) {
            const auto rate = (*row.measurement).*figure.member;
            if (!rate)
                continue;
            const auto length = std::max(1.0, static_cast<double>(*rate) * scale);
            body_ += fmt::format(
                "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n",
                kMargin + kLabelWidth, y_, length, kBarHeight, figure.colour);
            body_ += text_at(kMargin + kLabelWidth + static_cast<int>(length) + 6, y_ + 13,
                             rate_text(static_cast<double>(*rate)));
            y_ += kBarHeight + 2;
        }
        y_ += kRowGap;
    }

    std::string body_ = {};
    int y_ = kMargin;
};

}  // namespace

std::string bench_plot(const std::vector<BenchRow>& rows) {
    Drawing drawing;
    for (const auto& panel : kPanels)
        drawing.add(panel, rows);
    return drawing.document();
}

}  // namespace gpuprobe
