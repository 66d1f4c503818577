//===- ScheduleSpace.h - which schedules a kernel may have, as data ------------------===//
//
// A space is knobs with their values and constraints over them. Each target declares that of a kernel beside its
// schedules (cpu: lib/Tiled/DescribeSpaces.cpp, cuda: lib/Target/CUDA/ProductSpace.cpp); the tuner searches it and
// knows nothing else of the target. The text is what `tilewright tune --list` prints, and what the attribute tw.space
// holds:
//
//   rows: 16 32 64 (default 64)
//   depth: 128 256 (default 128, changes the order of sums)
//   at most 262144: 4 * rows * columns (a task's results fit the second-level cache)
//
// A point is a value for each knob, "rows=64 columns=96 depth=128".
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
  std::vector<int64_t> values; ///< ascending
  int64_t initial = 0;         ///< the value that the target chooses without measuring; one of `values`
  /// Its value decides in which order floats are summed, and so the last bits of results.
  bool reorders = false;
};

/// What the values of several knobs must meet together. `why` completes "so that ...".
struct Constraint {
  enum class Kind {
    ProductAtMost, ///< factor * the knobs' values <= limit
    TasksAtMost,   ///< the product of ceil(size / value) <= limit
    TasksAtLeast,  ///< the same >= limit
    Together,      ///< the first knob is `value` only where each other knob is below its size
    SumAtMost      ///< the sum of `terms` <= limit
  };
  struct Term {
    int64_t factor = 1; ///< not negative
    std::vector<size_t> knobs;
  };
  Kind kind = Kind::ProductAtMost;
  std::vector<size_t> knobs;  ///< none for SumAtMost
  std::vector<int64_t> sizes; ///< per knob; empty for ProductAtMost
  int64_t factor = 1, limit = 0, value = 0;
  std::string why;
  std::vector<Term> terms; ///< of SumAtMost
};

using SchedulePoint = std::vector<int64_t>; ///< a value per knob

/// A schedule that was raced: its time to the default's, and the 95% interval.
struct SeenSchedule {
  std::string schedule;
  double ratio = 1, low = 1, high = 1;
};

struct ScheduleSpace {
  std::vector<Knob> knobs;
  std::vector<Constraint> constraints;

  SchedulePoint initial() const;
  /// The first constraint that `point` breaks, or null. Knobs behind `known` are not looked at: a constraint counts as
  /// broken when no values of them could meet it.
  const Constraint *broken(const SchedulePoint &point, size_t known) const;
  bool contains(const SchedulePoint &point) const;

  /// Every point that meets all constraints, in lexical order, the default among them. Values are cut as soon as a
  /// constraint cannot be met any more; `visited` counts the partial points that were looked at.
  std::vector<SchedulePoint> points(int64_t *visited = nullptr) const;

  /// The nearest point of the space: each value the nearest of its knob on a logarithmic scale, then the constraints
  /// met by falling back to the default.
  SchedulePoint nearest(const std::vector<std::pair<std::string, int64_t>> &values) const;

  /// Points of one class give the same bits: the values of the knobs that change the order of sums.
  std::string numericsClass(const SchedulePoint &point) const;

  std::string print(const SchedulePoint &point) const;
  /// Nothing for a text that names other knobs, other values, or breaks a constraint; `why` says it.
  std::optional<SchedulePoint> parse(std::string_view text, std::string &why) const;

  /// Lines, as above.
  std::string print() const;
};

/// The names and numbers of "rows=64 columns=96"; nothing where the text is not of this kind.
std::optional<std::vector<std::pair<std::string, int64_t>>> parsePoint(std::string_view text);

} // namespace tilewright

#endif
