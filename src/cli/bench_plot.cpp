// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/parse.h"
#include "explain/gpu_words.h"
#include "explain/phrase.h"
#include "explain/sizes.h"
#include "report/promise.h"

namespace gpuprobe::inline cli {
namespace {

constexpr int kWidth = 1000;
constexpr int kMargin = 24;
constexpr int kLabelWidth = 300;
constexpr int kLeft = kMargin + kLabelWidth;  ///< where bars begin
constexpr int kValueWidth = 190;
constexpr int kBarsWidth = kWidth - kLeft - kValueWidth - kMargin;
constexpr int kRowGap = 14;
constexpr int kPanelGap = 34;
constexpr int kTitleHeight = 34;
constexpr std::size_t kMaxLabel = 40;
constexpr std::size_t kMaxNames = 3;     ///< kinds of GPUs in the title
constexpr std::uint64_t kFarBelow = 90;  ///< percent of the median, below which a GPU is named
constexpr std::string_view kPeak = "#a8443a";

struct Figure {
    std::string_view name;
    std::optional<std::uint64_t> Measurement::*member;
    std::string_view colour;    ///< on white; distinct also in shades of grey
    std::string_view at_night;  ///< on black, likewise
    std::optional<std::uint64_t> Promise::*promised = nullptr;
};
struct Panel {
    std::string_view title;
    std::string_view unit;
    std::span<const Figure> figures;
};
constexpr std::array<Figure, 2> kBandwidth{
    {{"read", &Measurement::memory_read, "#1f5f8b", "#8fc7f0", &Promise::memory},
     {"copy", &Measurement::memory_copy, "#8fbcdb", "#3f7fae", &Promise::memory}}};
constexpr std::array<Figure, 3> kArithmetic{
    {{"fp32", &Measurement::fp32, "#8a3b12", "#f3b07f", &Promise::fp32},
     {"fp16", &Measurement::fp16, "#d9893b", "#c9752b"},
     {"int8", &Measurement::int8, "#f0cd95", "#8a5526"}}};
constexpr std::array<Panel, 2> kPanels{
    {{"Memory bandwidth", "B/s", kBandwidth}, {"Arithmetic", "op/s", kArithmetic}}};

/// Equal devices through one backend: their bars stand together, in the order of the report.
struct Group {
    std::string label = {};
    std::vector<const BenchRow*> rows = {};
    Promise promise = {};

    [[nodiscard]] std::optional<std::uint64_t> promised(const Figure& figure) const {
        return figure.promised ? promise.*figure.promised : std::nullopt;
    }
};

/// What a viewer that knows of dark pages draws instead. The others keep the attributes.
/// Source: W3C, Media Queries Level 5, "prefers-color-scheme".
std::string night_style() {
    std::string rules =
        "svg{fill:#e6e6e6}.page{fill:#17191d}.grid{stroke:#3a3f46}.peak{stroke:#ff9d92}";
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

std::string line_at(std::string_view kind, double x, int top, int bottom, std::string_view more) {
    return fmt::format("<path class=\"{}\" d=\"M{:.1f} {}V{}\" {}/>\n", kind, x, top, bottom, more);
}

std::string peak_line(double x, int top, int bottom) {
    return line_at("peak", x, top, bottom,
                   fmt::format("stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"4 2\"", kPeak));
}

std::string bar_name(const BenchRow& row) {
    return row.name ? scrubbed(*row.name) : row.kind;
}

std::string label_of(const Group& group) {
    const auto& row = *group.rows.front();
    const auto count = group.rows.size() > 1 ? fmt::format("{} × ", group.rows.size()) : "";
    const auto* mark = row.kind == "software" ? " (software)" : "";
    return cut_to(fmt::format("{}{}, {}{}", row.backend, mark, count, bar_name(row)), kMaxLabel,
                  "…");
}

/// What its driver promises of a whole GPU; a part of one has less, which nobody tells.
Promise promise_to(const Report& report, const BenchRow& row) {
    const auto gpu = std::ranges::find(report.gpus, row.gpu.value_or(""), &Gpu::id);
    return gpu == report.gpus.end() ? Promise{} : promise_of(*gpu);
}

bool has_any(const BenchRow& row, const Panel& panel) {
    return row.measurement && std::ranges::any_of(panel.figures, [&row](const Figure& figure) {
               return ((*row.measurement).*figure.member).has_value();
           });
}

std::vector<Group> groups_of(const Report& report,
                             const std::vector<BenchRow>& rows,
                             const Panel& panel) {
    std::vector<Group> groups;
    for (const auto& row : rows) {
        if (!has_any(row, panel))
            continue;
        const auto promise = promise_to(report, row);
        const auto same = std::ranges::find_if(groups, [&](const Group& group) {
            const auto& first = *group.rows.front();
            return first.kind == row.kind && first.backend == row.backend &&
                   first.name == row.name && group.promise == promise;
        });
        if (same != groups.end())
            same->rows.push_back(&row);
        else
            groups.push_back({.rows = {&row}, .promise = promise});
    }
    for (auto& group : groups)
        group.label = label_of(group);
    return groups;
}

double largest(const std::vector<Group>& groups, const Panel& panel) {
    std::uint64_t most = 1;
    for (const auto& group : groups)
        for (const auto& figure : panel.figures) {
            most = std::max(most, group.promised(figure).value_or(0));
            for (const auto* row : group.rows)
                most = std::max(most, ((*row->measurement).*figure.member).value_or(0));
        }
    return static_cast<double>(most);
}

/// 1, 2 or 5 times a power of ten, of which there are three to seven in `most`.
double step_in(double most) {
    const auto power = std::pow(10.0, std::floor(std::log10(most / 3)));
    for (const double factor : {5.0, 2.0})
        if (most / (power * factor) >= 3)
            return power * factor;
    return power;
}

/// "20 Top/s": as a rate, without the zeros that a step of one digit ends in.
std::string tick_text(double rate, std::string_view unit) {
    auto text = rate_text(rate, unit);
    for (const std::string_view zeros : {".00 ", ".0 "})
        if (const auto at = text.find(zeros); at != std::string::npos)
            text.erase(at, zeros.size() - 1);
    return text;
}

/// "4 × NVIDIA H200", or the processor where no GPU was measured.
std::string machine_words(const Report& report, const std::vector<BenchRow>& rows) {
    std::vector<std::pair<std::string, std::set<std::string>>> kinds;
    for (const auto& row : rows) {
        if (row.kind != "gpu")
            continue;
        const auto name = bar_name(row);
        auto kind = std::ranges::find(kinds, name, [](const auto& each) { return each.first; });
        if (kind == kinds.end())
            kind = kinds.insert(kinds.end(), {name, {}});
        kind->second.insert(row.gpu.value_or(""));
    }
    if (kinds.empty())
        return scrubbed(report.host.cpu.model.value_or("this machine"));
    std::string words;
    for (const auto& [name, ids] : std::span{kinds}.first(std::min(kinds.size(), kMaxNames)))
        words += (words.empty() ? "" : ", ") +
                 (ids.size() > 1 ? fmt::format("{} × {}", ids.size(), name) : name);
    return words + (kinds.size() > kMaxNames ? ", …" : "");
}

/// The driver, the kernel, and when the newest of it was measured.
std::string circumstances(const Report& report, const std::vector<BenchRow>& rows) {
    std::vector<std::string> parts;
    const auto first = std::ranges::find(rows, "gpu", &BenchRow::kind);
    const auto gpu = first == rows.end()
                         ? report.gpus.end()
                         : std::ranges::find(report.gpus, first->gpu.value_or(""), &Gpu::id);
    if (gpu != report.gpus.end() && gpu->driver.name)
        parts.push_back(
            phrase("driver {driver}", {{"driver", driver_title(gpu->driver, Screen{})}}));
    if (report.host.kernel)
        parts.push_back(fmt::format("{} {} {}", report.host.os.value_or("linux"),
                                    *report.host.kernel, report.host.arch.value_or("")));
    std::optional<WallTime> at;
    for (const auto& row : rows)
        if (row.measurement && row.measurement->at)
            at = std::max(at.value_or(*row.measurement->at), *row.measurement->at);
    if (at)
        parts.push_back(phrase("measured {when}", {{"when", time_text(*at)}}));
    return scrubbed(fmt::format("{}", fmt::join(parts, " · ")));
}

/// The bars of one figure of a group, and what is written behind them.
struct Bars {
    const Figure& figure;
    std::vector<std::pair<const BenchRow*, std::uint64_t>> rates = {};

    Bars(const Figure& of, const Group& group) : figure{of} {
        for (const auto* row : group.rows)
            if (const auto rate = (*row->measurement).*figure.member)
                rates.emplace_back(row, *rate);
    }
    /// The more there are, the thinner.
    [[nodiscard]] int height() const {
        return rates.size() == 1 ? 16 : rates.size() == 2 ? 14 : rates.size() <= 4 ? 8 : 4;
    }
    [[nodiscard]] std::uint64_t slowest() const {
        return std::ranges::min(rates, {}, [](const auto& rate) { return rate.second; }).second;
    }
    [[nodiscard]] std::uint64_t fastest() const {
        return std::ranges::max(rates, {}, [](const auto& rate) { return rate.second; }).second;
    }
    /// "4.19 TB/s (85 %)", or from the slowest to the fastest.
    [[nodiscard]] std::string words(const Panel& panel,
                                    const std::optional<std::uint64_t>& promised) const {
        const auto low = rate_text(static_cast<double>(slowest()), panel.unit);
        const auto high = rate_text(static_cast<double>(fastest()), panel.unit);
        if (rates.size() > 1 && low != high)
            return low + " – " + high;
        const auto share = share_text(slowest(), promised);
        return low + (share.empty() ? "" : " (" + share + ")");
    }
    /// "slowest: pci:0000:07:00.0" where one is far below the others; "" elsewhere.
    [[nodiscard]] std::string straggler() const {
        if (rates.size() < 2)
            return "";
        auto sorted = rates;
        std::ranges::sort(sorted, {}, [](const auto& rate) { return rate.second; });
        const auto median = sorted[sorted.size() / 2].second;
        const auto& [row, rate] = sorted.front();
        return row->gpu && rate < median / 100 * kFarBelow ? "slowest: " + scrubbed(*row->gpu) : "";
    }
};

class Drawing {
public:
    Drawing(const Report& report, const std::vector<BenchRow>& rows)
        : report_{report}, rows_{rows} {
        body_ += text_at(kMargin, y_ + 16, machine_words(report, rows),
                         " font-size=\"20\" font-weight=\"bold\"");
        body_ += text_at(kMargin, y_ + 38, circumstances(report, rows), " opacity=\"0.7\"");
        y_ += 38 + kPanelGap;
    }

    void add(const Panel& panel) {
        const auto groups = groups_of(report_, rows_, panel);
        if (groups.empty())
            return;
        add_title(panel, std::ranges::any_of(groups, [&panel](const Group& group) {
                      return std::ranges::any_of(panel.figures, [&group](const Figure& figure) {
                          return group.promised(figure).has_value();
                      });
                  }));
        const auto most = largest(groups, panel);
        scale_ = kBarsWidth / most;
        const auto top = y_;
        std::string above;
        std::swap(above, body_);
        for (const auto& group : groups)
            add_group(group, panel);
        std::swap(above, body_);
        add_axis(panel, most, top);
        body_ += above;
        y_ += 20 + kPanelGap;
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
    void add_title(const Panel& panel, bool has_peak) {
        body_ += text_at(kMargin, y_ + 14, panel.title, " font-size=\"16\" font-weight=\"bold\"");
        int x = kLeft;
        for (const auto& figure : panel.figures) {
            body_ += fmt::format(
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" "
                "fill=\"{}\"/>\n",
                figure.name, x, y_ + 3, figure.colour);
            body_ += text_at(x + 17, y_ + 14, figure.name);
            x += 75;
        }
        if (has_peak) {
            body_ += peak_line(x + 5, y_ + 1, y_ + 17);
            body_ += text_at(x + 17, y_ + 14, "promised by the driver (100 %)");
        }
        y_ += kTitleHeight;
    }

    void add_group(const Group& group, const Panel& panel) {
        body_ += text_at(kMargin, y_ + 12, group.label);
        for (const auto& figure : panel.figures)
            if (const Bars bars{figure, group}; !bars.rates.empty())
                add_bars(bars, panel, group.promised(figure));
        y_ += kRowGap;
    }

    void add_bars(const Bars& bars,
                  const Panel& panel,
                  const std::optional<std::uint64_t>& promised) {
        const auto top = y_;
        for (const auto& [row, rate] : bars.rates) {
            body_ += fmt::format(
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" "
                "fill=\"{}\"><title>{} {}</title></rect>\n",
                bars.figure.name, kLeft, y_, std::max(1.0, width_of(rate)), bars.height(),
                bars.figure.colour, escaped(row->gpu ? scrubbed(*row->gpu) : bar_name(*row)),
                rate_text(static_cast<double>(rate), panel.unit));
            y_ += bars.height() + 1;
        }
        if (promised)
            body_ += peak_line(kLeft + width_of(*promised), top - 1, y_);
        const auto x =
            kLeft + 6 + static_cast<int>(width_of(std::max(bars.fastest(), promised.value_or(0))));
        body_ += text_at(x, top + 13, bars.words(panel, promised));
        if (const auto slowest = bars.straggler(); !slowest.empty())
            body_ += text_at(x, top + 27, slowest, " font-size=\"11\"");
        y_ += bars.rates.size() > 1 ? 5 : 1;
    }

    /// Below the bars that began at `top`; its lines go behind them.
    void add_axis(const Panel& panel, double most, int top) {
        const auto step = step_in(most);
        const auto steps = static_cast<int>(most / step);
        for (int i = 0; i <= steps; ++i) {
            const auto x = kLeft + i * step * scale_;
            body_ += line_at("grid", x, top - 4, y_ - 4, "stroke=\"#dddddd\"");
            const auto label = i == 0 ? "0" : tick_text(i * step, panel.unit);
            body_ += text_at(static_cast<int>(x), y_ + 10, label,
                             " font-size=\"11\" text-anchor=\"middle\" opacity=\"0.7\"");
        }
    }

    [[nodiscard]] double width_of(std::uint64_t rate) const {
        return static_cast<double>(rate) * scale_;
    }

    const Report& report_;
    const std::vector<BenchRow>& rows_;
    std::string body_ = {};
    double scale_ = 1;
    int y_ = kMargin;
};

}  // namespace

std::string bench_plot(const Report& report, const std::vector<BenchRow>& rows) {
    Drawing drawing{report, rows};
    for (const auto& panel : kPanels)
        drawing.add(panel);
    return drawing.document();
}

}  // namespace gpuprobe::inline cli
