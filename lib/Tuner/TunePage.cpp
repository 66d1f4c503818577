//===- TunePage.cpp - a tuning as a page ---------------------------------------------------------------===//
//
// Tests: test/Unit/Tuner/TunePageTest.cpp, test/Python/test_tuning.py, test/Tuner/tune.test
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/NumberText.h"
#include "lib/Interfaces/OperationText.h"
#include "tilewright/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr llvm::StringLiteral head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Tuning</title><style>
:root { color-scheme: light dark; --ink: light-dark(#1b1d22, #e6e8ec); --soft: light-dark(#68707d, #98a1af);
  --line: light-dark(#d8dce3, #363c47); --page: light-dark(#ffffff, #15181d); --own: light-dark(#7a828f, #8c95a3);
  --best: light-dark(#0b6bcb, #5aa9ff); --seen: light-dark(#9cc3ec, #2f5f94); --bad: light-dark(#b3261e, #ff8a80); }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--page); }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .2rem; } p { margin: .3rem 0; }
.soft { color: var(--soft); } code { font: 13px ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: right; padding: .25rem .6rem;
  border-bottom: 1px solid var(--line); } th:last-child, td:last-child { text-align: left; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font: 12px ui-monospace, monospace; }
summary { cursor: pointer; }
</style></head><body>
)";

std::string escaped(llvm::StringRef text) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  llvm::printHTMLEscaped(text, stream);
  return out;
}

/// Returns an upper bound of the width of `characters` characters in the font of the drawings (12 px, monospaced).
double textWidth(size_t characters) { return 7.5 * double(characters); }

/// The part of the axis of ratios that a drawing shows.
struct Axis {
  double least = 1, most = 1;
};

/// Returns an axis that includes the default (1) and all schedules, except those that are much slower than the median.
/// Let d be the distance of the fastest schedule from the median, but at least 0.02. The axis ends at most 4 d above
/// the median, but not before the default. Its ends are then rounded outward to multiples of 0.05.
Axis axisOf(const std::vector<SeenSchedule> &all) {
  constexpr double leastGain = 0.02; // the minimum gain with which a schedule replaces the default is 2%
  std::vector<double> ratios{1};
  for (const SeenSchedule &seen : all)
    ratios.push_back(seen.ratio);
  llvm::sort(ratios);
  const double median = ratios[ratios.size() / 2];
  const double limit = std::max(1.0, median + 4 * std::max(median - ratios.front(), leastGain));
  Axis axis;
  for (const SeenSchedule &seen : all) {
    axis.least = std::min(axis.least, seen.low);
    if (seen.ratio <= limit)
      axis.most = std::max(axis.most, std::min(seen.high, limit));
  }
  axis.least = std::floor(axis.least * 20) / 20;
  axis.most = std::ceil(axis.most * 20) / 20;
  if (axis.most - axis.least < 0.1)
    axis.most = axis.least + 0.1;
  return axis;
}

/// Draws the measured schedules on one axis, the fastest first. For each schedule, draws the median of the ratios to
/// the default, and its confidence interval. A schedule beyond the axis is drawn as an arrow at the right end of the
/// axis.
void drawSeen(llvm::raw_ostream &out, const TunedKernel &row) {
  constexpr double width = 480, step = 20, gap = 12;
  size_t longest = 0;
  for (const SeenSchedule &seen : row.seen)
    longest = std::max(longest, seen.schedule.size());
  const double left = std::max(330.0, textWidth(longest) + 2 * gap);
  const Axis axis = axisOf(row.seen);
  auto x = [&](double ratio) {
    return left + width * (std::clamp(ratio, axis.least, axis.most) - axis.least) / (axis.most - axis.least);
  };
  const double height = step * double(row.seen.size()) + 34;
  out << numberText("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"schedules against the default\">",
                    left + width + 60, height);
  out << numberText("<line x1=\"%g\" x2=\"%g\" y1=\"0\" y2=\"%g\" stroke=\"var(--own)\" stroke-dasharray=\"4 3\"/>",
                    x(1), x(1), height - 22);
  double y = 12;
  for (const SeenSchedule &seen : row.seen) {
    const bool chosen = seen.schedule == row.chosen;
    const char *color = chosen ? "var(--best)" : "var(--seen)";
    out << numberText("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">", left - gap, y + 4) << escaped(seen.schedule)
        << "</text>";
    if (seen.ratio > axis.most)
      out << numberText("<path d=\"M%g %g l10 5 l-10 5 z\" fill=\"%s\"/>", x(seen.ratio) - 5, y - 5, color);
    else
      out << numberText("<line x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\" stroke=\"%s\" stroke-width=\"3\"/>", x(seen.low),
                        x(seen.high), y, y, color)
          << numberText("<circle cx=\"%g\" cy=\"%g\" r=\"5\" fill=\"%s\"/>", x(seen.ratio), y, color);
    out << numberText("<text x=\"%g\" y=\"%g\">%.3f</text>", left + width + 10, y + 4, seen.ratio);
    y += step;
  }
  for (double tick : {axis.least, (axis.least + axis.most) / 2, axis.most})
    out << numberText("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%.*f</text>", x(tick), height - 6,
                      std::abs(tick * 100 - std::round(tick * 100)) < 1e-6 ? 2 : 3, tick);
  out << "</svg>\n";
}
} // namespace

/// Draws the tuning at one list of sizes; `id` is the prefix of its kernels' headings.
static void drawTuning(llvm::raw_ostream &out, const TuneReport &report, const std::string &id) {
  if (!report.sizes.empty())
    out << "<h2>At " << report.sizesText().substr(0, report.sizesText().size() - 2) << "</h2>\n";
  out << "<p>";
  if (report.untunedNanoseconds > 0)
    out << numberText("The whole model takes %.3f [%.3f, %.3f] of the untuned time, which is %.3f ms: ", report.ratio,
                      report.low, report.high, report.untunedNanoseconds / 1e6);
  out << escaped(report.verdict) << numberText(". %.1f s in all.</p>\n", report.seconds);
  out << "<table><thead><tr><th>share</th><th>calls</th><th>schedules</th><th>measured</th><th>seconds</th><th>ratio</"
         "th>"
         "<th>noise</th><th>kernel</th></tr></thead><tbody>\n";
  for (const TunedKernel &row : report.kernels) {
    out << numberText("<tr><td>%.1f%%</td><td>%lld</td><td>%lld</td><td>%lld</td><td>%.1f</td><td>", 100 * row.share,
                      (long long)row.calls, (long long)row.points, (long long)row.measurements, row.seconds);
    if (row.chosen != row.initial && !row.recorded)
      out << numberText("%.3f", row.ratio);
    out << numberText("</td><td>%.1f%%</td><td>", 100 * row.noise) << "<a href=\"#" << id << escaped(row.name) << "\">"
        << escaped(row.name) << "</a> " << escaped(shortOperations(row.operations)) << "</td></tr>\n";
  }
  out << "</tbody></table>\n";
  for (const TunedKernel &row : report.kernels) {
    out << "<h2 id=\"" << id << escaped(row.name) << "\">" << escaped(row.name) << " <span class=\"soft\">"
        << escaped(shortOperations(row.operations)) << "</span></h2>\n<p><code>"
        << escaped(row.chosen != row.initial ? row.chosen : "default " + row.initial)
        << "</code>: " << escaped(row.verdict) << "</p>\n";
    if (!row.key.empty())
      out << "<p class=\"soft\">key " << escaped(row.key.substr(0, 12))
          << numberText(", default %.1f us", row.initialNanoseconds / 1000) << "</p>\n";
    if (!row.seen.empty())
      drawSeen(out, row);
    if (!row.failures.empty()) {
      out << "<details><summary>" << row.failures.size() << " failed</summary><ul>\n";
      for (const auto &[schedule, reason] : row.failures)
        out << "<li><code>" << escaped(schedule) << "</code>: " << escaped(reason) << "</li>\n";
      out << "</ul></details>\n";
    }
  }
}

std::string tunePage(const TuneReport &report, llvm::StringRef model) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << head << "<h1>Tuning of " << escaped(model) << "</h1>\n"
      << "<p class=\"soft\">Ratios are medians over paired rounds, with 95% intervals; the dashed line is the default "
         "schedule, and an arrow is a schedule that is slower than the axis shows. A schedule is chosen if it is "
         "faster than the default by more than max(2%, 3 times the noise).</p>\n";
  for (auto [number, part] : llvm::enumerate(report.each()))
    drawTuning(out, *part, number == 0 ? "" : "sizes" + std::to_string(number) + "-");
  out << "</body></html>\n";
  return text;
}

std::string designPage(const std::vector<DesignPoint> &points, llvm::StringRef model) {
  constexpr double top = 20, width = 700, height = 320, gap = 14;
  double leastDsp = 0, mostDsp = 1, leastLatency = 0, mostLatency = 1;
  bool first = true;
  for (const DesignPoint &point : points) {
    if (!point.refusal.empty())
      continue;
    const double dsp = std::log2(double(std::max<int64_t>(point.dsp, 1))),
                 latency = std::log2(double(std::max<int64_t>(point.latency, 1)));
    leastDsp = first ? dsp : std::min(leastDsp, dsp);
    mostDsp = first ? dsp : std::max(mostDsp, dsp);
    leastLatency = first ? latency : std::min(leastLatency, latency);
    mostLatency = first ? latency : std::max(mostLatency, latency);
    first = false;
  }
  const double left = std::max(90.0, textWidth(numberText("%.0f", std::exp2(mostLatency)).size()) + 2 * gap);
  auto x = [&](const DesignPoint &point) {
    return left +
           width * (std::log2(double(std::max<int64_t>(point.dsp, 1))) - leastDsp) / std::max(mostDsp - leastDsp, 1e-9);
  };
  auto y = [&](const DesignPoint &point) {
    return top + height * (mostLatency - std::log2(double(std::max<int64_t>(point.latency, 1)))) /
                     std::max(mostLatency - leastLatency, 1e-9);
  };
  std::string text;
  llvm::raw_string_ostream out(text);
  out << head << "<h1>Designs of " << escaped(model)
      << "</h1>\n<p class=\"soft\">Estimated cycles over multipliers (DSP), on "
      << "logarithmic axes. A filled circle is a design that is not worse than another one: designs with fewer cycles "
         "have more multipliers, and designs with fewer multipliers have more cycles. Nothing was measured.</p>\n"
      << numberText("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"latency over DSP\">", left + width + 60,
                    top + height + 50);
  std::string path;
  for (const DesignPoint &point : points) {
    if (!point.refusal.empty())
      continue;
    out << numberText("<circle cx=\"%g\" cy=\"%g\" r=\"5\" fill=\"%s\" stroke=\"var(--best)\"><title>", x(point),
                      y(point), point.best ? "var(--best)" : "none")
        << point.dsp << " DSP, " << point.latency << " cycles, " << point.bram << " BRAM, " << point.uram
        << " URAM</title></circle>";
    if (point.best)
      llvm::raw_string_ostream(path) << numberText("%s%g %g", path.empty() ? "M" : " L", x(point), y(point));
  }
  out << "<path d=\"" << path << "\" fill=\"none\" stroke=\"var(--seen)\" stroke-width=\"2\"/>"
      << numberText(
             "<text x=\"%g\" y=\"%g\">%.0f DSP</text><text x=\"%g\" y=\"%g\" text-anchor=\"end\">%.0f DSP</text>", left,
             top + height + 40, std::exp2(leastDsp), left + width, top + height + 40, std::exp2(mostDsp))
      << numberText("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%.0f</text><text x=\"%g\" y=\"%g\" "
                    "text-anchor=\"end\">%.0f</text></svg>\n",
                    left - gap, top + 4, std::exp2(mostLatency), left - gap, top + height + 4, std::exp2(leastLatency))
      << "<table><thead><tr><th>offered</th><th>DSP</th><th>BRAM</th><th>URAM</th><th>latency</th><th>interval</"
         "th><th></th></tr>"
         "</thead><tbody>\n";
  for (const DesignPoint &point : points) {
    out << "<tr><td>" << point.offered << "</td>";
    if (point.refusal.empty())
      out << "<td>" << point.dsp << "</td><td>" << point.bram << "</td><td>" << point.uram << "</td><td>"
          << point.latency << "</td><td>" << point.interval << "</td><td>" << (point.best ? "best" : "")
          << "</td></tr>\n";
    else
      out << "<td colspan=\"5\"></td><td>" << escaped(point.refusal) << "</td></tr>\n";
  }
  out << "</tbody></table>\n</body></html>\n";
  return text;
}

} // namespace tilewright
