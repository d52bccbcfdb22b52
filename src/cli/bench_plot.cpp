// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_plot.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/parse.h"
#include "explain/sizes.h"

namespace gpuprobe::inline cli {
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
    std::string_view colour;    ///< on white; distinct also in shades of grey
    std::string_view at_night;  ///< on black, likewise
};
struct Panel {
    std::string_view title;
    std::string_view unit;
    std::span<const Figure> figures;
};
constexpr std::array<Figure, 2> kBandwidth{
    {{"read", &Measurement::memory_read, "#1f5f8b", "#8fc7f0"},
     {"copy", &Measurement::memory_copy, "#8fbcdb", "#3f7fae"}}};
constexpr std::array<Figure, 3> kArithmetic{{{"fp32", &Measurement::fp32, "#8a3b12", "#f3b07f"},
                                             {"fp16", &Measurement::fp16, "#d9893b", "#c9752b"},
                                             {"int8", &Measurement::int8, "#f0cd95", "#8a5526"}}};
constexpr std::array<Panel, 2> kPanels{
    {{"Memory bandwidth", "B/s", kBandwidth}, {"Arithmetic", "op/s", kArithmetic}}};

/// What a viewer that knows of dark pages draws instead. The others keep the attributes.
/// Source: W3C, Media Queries Level 5, "prefers-color-scheme".
std::string night_style() {
    std::string rules = "svg{fill:#e6e6e6}.page{fill:#17191d}";
    for (const auto& panel : kPanels)
        for (const auto& figure : panel.figures)
            rules += fmt::format(".{}{{fill:{}}}", figure.name, figure.at_night);
    return fmt::format("<style>@media (prefers-color-scheme: dark){{{}}}</style>\n", rules);
}

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

/// Of several GPUs each has its id, for equal cards have equal names.
std::string label_of(const BenchRow& row, bool has_several_gpus) {
    const auto name = row.name ? scrubbed(*row.name) : row.kind;
    if (row.gpu && has_several_gpus) {
        const auto id = " " + scrubbed(*row.gpu, kMaxLabel / 2);
        return scrubbed(fmt::format("{}, {}", row.backend, name), kMaxLabel - id.size()) + id;
    }
    const auto* mark = row.kind == "software" ? " (software)" : "";
    return scrubbed(fmt::format("{}{}, {}", row.backend, mark, name), kMaxLabel);
}

bool has_several_gpus(const std::vector<BenchRow>& rows) {
    const auto first = std::ranges::find(rows, "gpu", &BenchRow::kind);
    return std::any_of(first, rows.end(), [&first](const BenchRow& row) {
        return row.kind == "gpu" && row.gpu != first->gpu;
    });
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
        has_several_gpus_ = has_several_gpus(rows);
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
            "{2}<rect class=\"page\" width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{3}</svg>\n",
            kWidth, y_, night_style(), body_);
    }

private:
    void add_title(const Panel& panel) {
        body_ += text_at(kMargin, y_ + 14, panel.title, " font-size=\"16\" font-weight=\"bold\"");
        int x = kMargin + kLabelWidth;
        for (const auto& figure : panel.figures) {
            body_ += fmt::format(
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" "
                "fill=\"{}\"/>\n",
                figure.name, x, y_ + 3, figure.colour);
            body_ += text_at(x + 17, y_ + 14, figure.name);
            x += 75;
        }
        y_ += kTitleHeight;
    }

    void add_bars(const BenchRow& row, const Panel& panel, double scale) {
        body_ += text_at(kMargin, y_ + 12, label_of(row, has_several_gpus_));
        for (const auto& figure : panel.figures) {
            const auto rate = (*row.measurement).*figure.member;
            if (!rate)
                continue;
            const auto length = std::max(1.0, static_cast<double>(*rate) * scale);
            body_ += fmt::format(
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" "
                "fill=\"{}\"/>\n",
                figure.name, kMargin + kLabelWidth, y_, length, kBarHeight, figure.colour);
            body_ += text_at(kMargin + kLabelWidth + static_cast<int>(length) + 6, y_ + 13,
                             rate_text(static_cast<double>(*rate), panel.unit));
            y_ += kBarHeight + 2;
        }
        y_ += kRowGap;
    }

    std::string body_ = {};
    int y_ = kMargin;
    bool has_several_gpus_ = false;
};

}  // namespace

std::string bench_plot(const std::vector<BenchRow>& rows) {
    Drawing drawing;
    for (const auto& panel : kPanels)
        drawing.add(panel, rows);
    return drawing.document();
}

}  // namespace gpuprobe::inline cli
