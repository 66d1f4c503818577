//===- Search.cpp - search for the best schedule by measurement ---------------------------===//
//
// Test: test/Unit/Tuner/SearchTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Search.h"
#include "lib/Tuner/Surrogate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace tilewright::tuner {
namespace {

constexpr int screeningRounds = 11, mostScreeningRounds = 100, finalRounds = 25, mostFinalRounds = 100, finalists = 4,
              batch = 8;
/// The maximum total time, in nanoseconds, of the lanes of a screening race. It limits the number of rounds after the
/// first `screeningRounds` rounds.
constexpr double screeningNanoseconds = 1e9;
/// The number of schedules in the first race that are spread evenly over the space, for the tiers quick and full.
constexpr int spreadOfQuick = 3, spreadOfFull = 27;

class Searcher {
public:
  Searcher(const Searched &kernel, Bench &bench, const SearchOptions &options)
      : kernel(kernel), bench(bench), options(options), own(kernel.space.initial()),
        budget(options.measurements > 0         ? options.measurements
               : options.tier == TuneTier::Full ? 64
                                                : 16) {
    for (size_t number = 0; number < kernel.points.size(); ++number)
      numberOf[kernel.points[number]] = number;
    for (size_t knob = 0; knob < own.size(); ++knob)
      modelled.push_back(isModelled(knob));
  }

  SearchResult run() {
    result.best = own;
    result.measurements = 1; // count the default schedule, which is in every race
    raced.insert(own);
    if (kernel.points.size() < 2) {
      result.decided = true;
      result.verdict = "there is only one schedule";
      return result;
    }
    if (options.tier == TuneTier::Model) {
      result.best = bestByModel(kernel, options.deterministic);
      result.isDefault = result.best == own;
      result.measurements = 0;
      result.decided = true;
      result.verdict = "the choice of the cost model; nothing was measured";
      return result;
    }
    const bool full = options.tier == TuneTier::Full;
    const int toSpread = full ? spreadOfFull : spreadOfQuick;
    const int early = std::min(budget, 13 + toSpread);
    std::vector<SchedulePoint> first = firstByModel(std::min(early - 1, 4));
    append(first, alternatives());
    first.resize(std::min<size_t>(first.size(), 9));
    // The schedules of the first race depend on no measurement of this tuning, so that all tunings of a kernel with the
    // same records start with the same schedules.
    spread(first, toSpread);
    measure(first, early);
    std::vector<SchedulePoint> joined = together();
    append(joined, around(best(), /*known=*/true));
    append(joined, around(best(), /*known=*/false));
    joined.resize(std::min<size_t>(joined.size(), 3));
    measure(joined, early);
    while (result.measurements < early && !over()) {
      // Choose all schedules at once. If more choices depended on noisy results, two tunings of the same kernel would
      // differ more.
      std::vector<SchedulePoint> next = promising(early - result.measurements);
      if (next.empty())
        break;
      measure(next, early);
    }
    while (full && result.measurements < budget && !over()) {
      std::vector<SchedulePoint> next = promising(batch);
      if (next.empty())
        break;
      measure(next, budget);
    }
    decide();
    return result;
  }

private:
  bool over() { return bench.stopped() || !aborted.empty(); }

  bool allowed(const SchedulePoint &point) const {
    return kernel.space.contains(point) &&
           (!options.deterministic || kernel.space.numericsClass(point) == kernel.space.numericsClass(own));
  }

  void append(std::vector<SchedulePoint> &list, const std::vector<SchedulePoint> &more) const {
    for (const SchedulePoint &point : more)
      if (!raced.count(point) && std::find(list.begin(), list.end(), point) == list.end())
        list.push_back(point);
  }

  double predicted(const SchedulePoint &point) const {
    auto found = numberOf.find(point);
    return kernel.predicted.empty() || found == numberOf.end() ? 0 : kernel.predicted[found->second];
  }

  /// Returns true if the model predicts different times for the values of knob `knob`.
  bool isModelled(size_t knob) const {
    if (kernel.predicted.empty())
      return false;
    for (int64_t value : kernel.space.knobs[knob].values) {
      SchedulePoint other = own;
      other[knob] = value;
      if (std::abs(predicted(other) - predicted(own)) > 1e-6 * predicted(own) && predicted(other) > 0)
        return true;
    }
    return false;
  }

  /// Returns at most `count` schedules. The list begins with up to three schedules of the nearest records. The
  /// schedules with the best predicted times follow, in which knobs that the model does not cover keep the default's
  /// values. Without a model, a sample of the space follows instead.
  std::vector<SchedulePoint> firstByModel(int count) const {
    std::vector<SchedulePoint> list;
    for (const SchedulePoint &point : options.similar)
      if (allowed(point) && list.size() < 3)
        append(list, {point});
    std::vector<std::pair<double, SchedulePoint>> ranked;
    for (const SchedulePoint &point : kernel.points) {
      bool plain = true;
      for (size_t knob = 0; knob < own.size(); ++knob)
        plain &= modelled[knob] || kernel.predicted.empty() || point[knob] == own[knob];
      if (plain && allowed(point))
        ranked.push_back({predicted(point), point});
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](auto &a, auto &b) { return a.first < b.first; });
    // Without a model, sample the space evenly.
    if (kernel.predicted.empty())
      for (size_t i = 0, step = std::max<size_t>(1, ranked.size() / 7); i < ranked.size(); i += step)
        append(list, {ranked[i].second});
    for (const auto &[time, point] : ranked) {
      if (int(list.size()) >= count)
        break;
      append(list, {point});
    }
    list.resize(std::min(list.size(), size_t(std::max(count, 0))));
    return list;
  }

  /// Returns the points that differ from the default in one knob that the model does not cover.
  std::vector<SchedulePoint> alternatives() const {
    std::vector<SchedulePoint> list;
    for (size_t knob = 0; knob < own.size(); ++knob)
      for (int64_t value : kernel.space.knobs[knob].values) {
        SchedulePoint other = own;
        other[knob] = value;
        if (!modelled[knob] && allowed(other))
          append(list, {other});
      }
    return list;
  }

  /// Appends up to `count` points that are far from those in `list`, from each other and from the default. Each is the
  /// point with the largest distance to its nearest neighbor, relative to the knobs' ranges (Johnson, Moore, Ylvisaker:
  /// Minimax and maximin distance designs, 1990).
  void spread(std::vector<SchedulePoint> &list, int count) const {
    auto distance = [&](const SchedulePoint &a, const SchedulePoint &b) {
      double sum = 0;
      for (size_t knob = 0; knob < own.size(); ++knob) {
        const std::vector<int64_t> &values = kernel.space.knobs[knob].values;
        auto positionOf = [&](int64_t value) {
          return std::lower_bound(values.begin(), values.end(), value) - values.begin();
        };
        double part = double(positionOf(a[knob]) - positionOf(b[knob])) / std::max(1.0, double(values.size()) - 1);
        sum += part * part;
      }
      return sum;
    };
    std::vector<double> nearest(kernel.points.size(), std::numeric_limits<double>::infinity());
    auto add = [&](const SchedulePoint &chosen) {
      for (size_t number = 0; number < nearest.size(); ++number)
        nearest[number] = std::min(nearest[number], distance(kernel.points[number], chosen));
    };
    add(own);
    for (const SchedulePoint &point : list)
      add(point);
    for (size_t number = 0; number < nearest.size(); ++number)
      if (!allowed(kernel.points[number]))
        nearest[number] = 0;
    for (int drawn = 0; drawn < count; ++drawn) {
      auto farthest = std::max_element(nearest.begin(), nearest.end());
      if (farthest == nearest.end() || *farthest <= 0)
        return;
      list.push_back(kernel.points[size_t(farthest - nearest.begin())]);
      add(list.back());
    }
  }

  /// Returns the neighbors of `point` that differ by one step in one knob. If `known` is true, only the knobs that the
  /// model covers are changed, otherwise only the other knobs.
  std::vector<SchedulePoint> around(const SchedulePoint &point, bool known) const {
    std::vector<SchedulePoint> list;
    for (size_t knob = 0; knob < own.size(); ++knob) {
      if (modelled[knob] != known)
        continue;
      const std::vector<int64_t> &values = kernel.space.knobs[knob].values;
      long position = std::lower_bound(values.begin(), values.end(), point[knob]) - values.begin();
      for (long next : {position + 1, position - 1})
        if (next >= 0 && next < long(values.size())) {
          SchedulePoint other = point;
          other[knob] = values[size_t(next)];
          if (allowed(other))
            append(list, {other});
        }
    }
    return list;
  }

  /// Returns the best point with each knob set to the value that reduced the time most when only that knob was changed.
  /// Returns an empty list if no knob changes, or if the point is not allowed or was already raced.
  std::vector<SchedulePoint> together() const {
    std::map<SchedulePoint, double> seen{{own, 1}};
    for (const auto &[point, measured] : ratios)
      seen[point] = measured.ratio.median;
    const SchedulePoint from = best();
    SchedulePoint combined = from;
    size_t changed = 0;
    for (size_t knob = 0; knob < own.size(); ++knob) {
      double least = 1.01; // a value that is slower by up to 1% may be faster in combination
      for (const auto &[point, time] : seen) {
        SchedulePoint before = point;
        before[knob] = from[knob];
        auto found = seen.find(before);
        if (point[knob] == from[knob] || found == seen.end() || time / found->second > least)
          continue;
        least = time / found->second;
        combined[knob] = point[knob];
      }
      changed += combined[knob] != from[knob];
    }
    if (changed == 0 || !allowed(combined) || raced.count(combined))
      return {};
    return {combined};
  }

  /// Returns at most `count` points. Up to a quarter of them (at least one) are the result of together() and neighbors
  /// of the best point. The other points have the largest expected improvement.
  std::vector<SchedulePoint> promising(int count) {
    const int nearby = std::max(1, count / 4);
    std::vector<size_t> numbers;
    std::vector<double> seen;
    if (auto found = numberOf.find(own); found != numberOf.end()) {
      numbers.push_back(found->second);
      seen.push_back(1);
    }
    for (const auto &[point, measured] : ratios)
      if (auto found = numberOf.find(point); found != numberOf.end()) {
        numbers.push_back(found->second);
        seen.push_back(measured.ratio.median);
      }
    std::vector<SchedulePoint> list;
    if (seen.empty())
      return list;
    const double bestRatio = *std::min_element(seen.begin(), seen.end());
    for (int drawn = 0; drawn < count - nearby; ++drawn) {
      Surrogate surrogate(kernel, numbers, seen);
      double most = 0, least = 0;
      size_t chosen = kernel.points.size(), unknown = chosen;
      for (size_t number = 0; number < kernel.points.size(); ++number) {
        const SchedulePoint &point = kernel.points[number];
        if (raced.count(point) || std::find(list.begin(), list.end(), point) != list.end() || !allowed(point))
          continue;
        if (double gain = surrogate.expectedImprovement(number, bestRatio); gain > most) {
          most = gain;
          chosen = number;
        }
        if (double deviation = surrogate.at(number).deviation; deviation > least) {
          least = deviation;
          unknown = number;
        }
      }
      if (most < 1e-4) // no improvement is expected: choose the most uncertain point
        chosen = unknown;
      if (chosen == kernel.points.size())
        break;
      list.push_back(kernel.points[chosen]);
      // Treat the point as measured with its predicted time, so that the next chosen point is not close to it.
      numbers.push_back(chosen);
      seen.push_back(std::exp(surrogate.at(chosen).mean));
    }
    std::vector<SchedulePoint> near = together();
    append(near, around(best(), /*known=*/true));
    append(near, around(best(), /*known=*/false));
    near.resize(std::min<size_t>(near.size(), size_t(nearby)));
    append(list, near);
    return list;
  }

  SchedulePoint best() const {
    SchedulePoint found = own;
    double least = 1;
    for (const auto &[point, seen] : ratios)
      if (seen.ratio.median < least) {
        least = seen.ratio.median;
        found = point;
      }
    return found;
  }

  /// Races the points of `list`, with the default as the first and the last lane.
  std::vector<Lane> race(const std::vector<SchedulePoint> &list, int rounds) {
    std::vector<SchedulePoint> all{own};
    all.insert(all.end(), list.begin(), list.end());
    all.push_back(own);
    return steadyRace(bench, all, rounds, incumbent, aborted);
  }

  void measure(std::vector<SchedulePoint> list, int most) {
    std::erase_if(list, [&](const SchedulePoint &point) { return raced.count(point) > 0; });
    if (int capacity = most - result.measurements; int(list.size()) > capacity)
      list.resize(size_t(std::max(capacity, 0)));
    if (list.empty() || over())
      return;
    std::vector<Lane> lanes = race(list, screeningRounds);
    if (lanes.empty())
      return;
    double round = 0;
    for (const Lane &lane : lanes)
      round += median(lane.nanoseconds);
    if (int more = std::min(int(screeningNanoseconds / round), mostScreeningRounds) - screeningRounds; more > 0) {
      std::vector<Lane> rest = race(list, more);
      for (size_t i = 0; i < rest.size(); ++i)
        join(lanes[i], rest[i]);
    }
    incumbent = median(lanes.front().nanoseconds);
    for (size_t i = 0; i < list.size(); ++i) {
      ++result.measurements;
      raced.insert(list[i]);
      const Lane &lane = lanes[i + 1];
      if (lane.nanoseconds.empty())
        result.failures.push_back({list[i], lane.failure});
      else
        ratios[list[i]] = {list[i], ratioOf(lane.nanoseconds, lanes.front().nanoseconds), median(lane.nanoseconds)};
    }
  }

  /// Returns true if more rounds may change the winner. This is the case if there are no results yet, if the confidence
  /// interval of the best point contains the smallest relevant gain, or if the point's gain exceeds the smallest
  /// relevant gain but is too small for the noise (wins()).
  bool isOpen(const std::vector<Measured> &finals) const {
    if (finals.empty())
      return true;
    const Ratio &best = finals.front().ratio;
    const double least = 1 - marginOf(0);
    return best.low < least && (best.high > least || !wins(best, result.noise));
  }

  static void join(Lane &lane, const Lane &more) {
    if (lane.failure.empty())
      lane.failure = more.failure;
    if (!lane.failure.empty())
      lane.nanoseconds.clear();
    else
      lane.nanoseconds.insert(lane.nanoseconds.end(), more.nanoseconds.begin(), more.nanoseconds.end());
  }

  /// Returns the results of the points in `list` relative to the first lane, which is the default, sorted by ratio.
  static std::vector<Measured> sortedRatios(const std::vector<SchedulePoint> &list, const std::vector<Lane> &lanes) {
    std::vector<Measured> sorted;
    for (size_t i = 0; i < list.size(); ++i)
      if (const std::vector<double> &times = lanes[i + 1].nanoseconds; !times.empty())
        sorted.push_back({list[i], ratioOf(times, lanes.front().nanoseconds), median(times)});
    std::stable_sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a.ratio.median < b.ratio.median; });
    return sorted;
  }

  void decide() {
    std::vector<Measured> order;
    for (const auto &[point, seen] : ratios)
      order.push_back(seen);
    std::stable_sort(order.begin(), order.end(), [](auto &a, auto &b) { return a.ratio.median < b.ratio.median; });
    result.measured = order;
    std::vector<SchedulePoint> last;
    for (const Measured &seen : order)
      if (int(last.size()) < finalists && seen.ratio.median < 1)
        last.push_back(seen.point);
    result.verdict = "no other schedule was faster";
    if (over()) {
      result.verdict = "the default: " + (aborted.empty() ? "the search was interrupted" : aborted);
      return;
    }
    if (last.empty()) {
      result.decided = !order.empty();
      return;
    }
    std::vector<Lane> lanes(last.size() + 2);
    std::vector<Measured> finals;
    for (int rounds = 0; rounds < mostFinalRounds && isOpen(finals); rounds += finalRounds) {
      std::vector<Lane> more = race(last, finalRounds);
      if (more.empty())
        break;
      for (size_t i = 0; i < lanes.size(); ++i)
        join(lanes[i], more[i]);
      result.noise = noiseOf(lanes.front().nanoseconds, lanes.back().nanoseconds);
      finals = sortedRatios(last, lanes);
    }
    if (lanes.front().nanoseconds.empty()) {
      result.verdict = "the default: " + (aborted.empty() ? "the last race was interrupted" : aborted);
      return;
    }
    result.decided = true;
    result.defaultNanoseconds = median(lanes.front().nanoseconds);
    for (const Measured &seen : finals) {
      auto found = std::find_if(result.measured.begin(), result.measured.end(),
                                [&](const Measured &other) { return other.point == seen.point; });
      *found = seen;
    }
    std::stable_sort(result.measured.begin(), result.measured.end(),
                     [](auto &a, auto &b) { return a.ratio.median < b.ratio.median; });
    result.verdict = "no other schedule was faster beyond the noise";
    for (const Measured &seen : finals) {
      if (!wins(seen.ratio, result.noise))
        break;
      std::string wrong = bench.check(seen.point);
      if (!wrong.empty()) {
        result.failures.push_back({seen.point, "wrong numbers: " + wrong});
        std::erase_if(result.measured, [&](const Measured &other) { return other.point == seen.point; });
        continue;
      }
      result.best = seen.point;
      result.isDefault = false;
      result.ratio = seen.ratio;
      result.verdict = "faster beyond the noise in the last race";
      return;
    }
  }

  const Searched &kernel;
  Bench &bench;
  const SearchOptions &options;
  const SchedulePoint own;
  const int budget;
  std::map<SchedulePoint, size_t> numberOf;
  std::vector<bool> modelled; ///< for each knob: true if the model distinguishes its values
  std::set<SchedulePoint> raced;
  std::map<SchedulePoint, Measured> ratios;
  double incumbent = 0; ///< time of the default in nanoseconds
  std::string aborted;
  SearchResult result;
};
} // namespace

std::vector<Lane> steadyRace(Bench &bench, const std::vector<SchedulePoint> &points, int rounds, double &incumbent,
                             std::string &aborted) {
  constexpr double mostDrift = 0.05;
  std::vector<Lane> kept(points.size());
  for (int attempt = 0; attempt < 4 && !bench.stopped(); ++attempt) {
    const size_t missing = size_t(rounds) - kept.front().nanoseconds.size();
    std::vector<Lane> lanes = bench.race(points, int(missing), 3 * incumbent);
    if (lanes.size() != points.size() || lanes.front().nanoseconds.empty() || lanes.back().nanoseconds.empty()) {
      const std::string why = lanes.empty() ? "" : lanes.front().failure;
      aborted = "the default schedule could not be measured" + (why.empty() ? "" : ": " + why);
      return {};
    }
    if (incumbent == 0)
      incumbent = median(lanes.front().nanoseconds);
    for (size_t round = 0; round < missing; ++round) {
      if (std::abs(lanes.back().nanoseconds[round] / lanes.front().nanoseconds[round] - 1) > mostDrift)
        continue;
      for (size_t i = 0; i < points.size(); ++i)
        if (kept[i].failure.empty() && round < lanes[i].nanoseconds.size())
          kept[i].nanoseconds.push_back(lanes[i].nanoseconds[round]);
    }
    for (size_t i = 0; i < points.size(); ++i)
      if (!lanes[i].failure.empty())
        kept[i] = {{}, lanes[i].failure};
    if (kept.front().nanoseconds.size() == size_t(rounds))
      return kept;
  }
  // Fewer rounds result in wider intervals, which is acceptable if the rounds suffice for a confidence interval.
  if (kept.front().nanoseconds.size() >= std::max<size_t>(6, size_t(rounds) / 2))
    return kept;
  if (!bench.stopped())
    aborted = "the machine's speed changed by more than 5% within most rounds; other programs may be running";
  return {};
}

SearchResult search(const Searched &kernel, Bench &bench, const SearchOptions &options) {
  return Searcher(kernel, bench, options).run();
}

SchedulePoint bestByModel(const Searched &kernel, bool deterministic) {
  SchedulePoint best = kernel.space.initial();
  if (kernel.predicted.empty())
    return best;
  const SchedulePoint own = best;
  const std::string ownClass = kernel.space.numericsClass(own);
  // Among points with equal predictions, choose the point that has the most values in common with the default.
  auto likeness = [&](const SchedulePoint &point) {
    size_t same = 0;
    for (size_t knob = 0; knob < own.size(); ++knob)
      same += point[knob] == own[knob];
    return same;
  };
  auto found = std::find(kernel.points.begin(), kernel.points.end(), own);
  double least = found == kernel.points.end() ? 0 : kernel.predicted[size_t(found - kernel.points.begin())];
  for (size_t i = 0; i < kernel.points.size(); ++i) {
    const SchedulePoint &point = kernel.points[i];
    if (deterministic && kernel.space.numericsClass(point) != ownClass)
      continue;
    if (kernel.predicted[i] < least || (kernel.predicted[i] == least && likeness(point) > likeness(best))) {
      least = kernel.predicted[i];
      best = point;
    }
  }
  return best;
}

} // namespace tilewright::tuner
