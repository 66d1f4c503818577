//===- ScheduleSpace.h - the schedules that a kernel may have, as data ---------------===//
//
// A space consists of knobs with their values, and constraints over them. Each target declares the space of a kernel
// where it declares its schedules (cpu: lib/Codegen/CPU/Schedule/DescribeSpaces.cpp, cuda:
// lib/Codegen/GPU/Schedule/DescribeCudaSpaces.cpp). The tuner searches the space and needs no other information about
// the target. `tilewright tune --list` prints a space as follows; the attribute tw.space contains it as JSON
// (SpaceText.h):
//
//   rows: 16 32 64 (default 64)
//   columns: 48 96 (default 96)
//   k_block: 128 256 (default 128, changes the order of sums)
//   at most 262144: 4 * rows * columns (a task's results fit the L2 cache)
//
// A point has a value for each knob, such as "rows=64 columns=96 k_block=128".
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_SCHEDULESPACE_H
#define TILEWRIGHT_SCHEDULESPACE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct Knob {
  std::string name;
  std::vector<int64_t> values; ///< values of the knob in ascending order
  int64_t initial = 0;         ///< the value that the target chooses without measuring; one of `values`
  /// True if the knob's value determines the order in which floats are summed, and thus the last bits of results.
  bool reorders = false;
};

/// A condition on the values of several knobs. `why` is the reason for the condition, as the end of a sentence after
/// "so that".
struct Constraint {
  enum class Kind {
    ProductAtMost, ///< factor * the product of the knobs' values <= limit
    TasksAtMost,   ///< the product of ceil(size / value) <= limit
    TasksAtLeast,  ///< the product of ceil(size / value) >= limit
    Together,      ///< knobs[0] may be `value` only if each other knob i is less than sizes[i]
    SumAtMost      ///< the sum of `terms` <= limit
  };
  struct Term {
    int64_t factor = 1; ///< not negative
    std::vector<size_t> knobs;
  };
  Kind kind = Kind::ProductAtMost;
  std::vector<size_t> knobs;  ///< indices of the knobs; empty for SumAtMost
  std::vector<int64_t> sizes; ///< one size per knob; empty for ProductAtMost and SumAtMost
  int64_t factor = 1, limit = 0, value = 0;
  std::string why;
  std::vector<Term> terms; ///< terms of the sum, for SumAtMost
};

using SchedulePoint = std::vector<int64_t>; ///< a value per knob

/// A schedule that was measured in a race: the ratio of its time to the default's, and the 95% interval.
struct SeenSchedule {
  std::string schedule;
  double ratio = 1, low = 1, high = 1;
};

struct ScheduleSpace {
  std::vector<Knob> knobs;
  std::vector<Constraint> constraints;

  SchedulePoint initial() const;
  /// Returns the first constraint that `point` violates, or null. Only the values of the first `known` knobs are used:
  /// a constraint is reported only if no values of the remaining knobs can satisfy it.
  const Constraint *broken(const SchedulePoint &point, size_t known) const;
  bool contains(const SchedulePoint &point) const;

  /// Returns the default and every point that satisfies all constraints, in lexicographic order. The enumeration prunes
  /// partial points as soon as a constraint cannot be satisfied; `visited` counts the partial points.
  std::vector<SchedulePoint> points(int64_t *visited = nullptr) const;

  /// Returns a point of the space that is near `values`. Each knob in `values` is set to its nearest value on a
  /// logarithmic scale, the others to their defaults. If the point violates a constraint, the knobs are set to their
  /// defaults one after another, beginning with the last knob, until all constraints are satisfied or all knobs have
  /// their defaults.
  SchedulePoint nearest(const std::vector<std::pair<std::string, int64_t>> &values) const;

  /// Returns the values of the knobs that change the order of sums. Points for which this text is equal produce bitwise
  /// equal results.
  std::string numericsClass(const SchedulePoint &point) const;

  std::string print(const SchedulePoint &point) const;
  /// Parses a point. Returns nullopt, with the reason in `why`, if a knob or value is unknown, if a knob has no value,
  /// or if a constraint is violated. The default is accepted even if it violates a constraint.
  std::optional<SchedulePoint> parse(std::string_view text, std::string &why) const;

  /// Returns the text of the space, as in the example at the top of this file.
  std::string print() const;
};

/// Parses a text such as "rows=64 columns=96", and returns its names and values. Returns nullopt if the text has
/// another form.
std::optional<std::vector<std::pair<std::string, int64_t>>> parsePoint(std::string_view text);

} // namespace tilewright

#endif
