//===- ScheduleSpace.cpp - enumerate a space by backtracking -------------------------===//
//
// Test: test/Unit/Tuner/ScheduleSpaceTest.cpp
//
//===----------------------------------------------------------------------===//
#include "tilewright/ScheduleSpace.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <locale>
#include <sstream>

namespace tilewright {
namespace {

constexpr int64_t most = INT64_MAX / 4;

int64_t times(int64_t a, int64_t b) { return a != 0 && b > most / a ? most : a * b; }

/// Returns the smallest (or, with `largest`, the largest) possible value of the constraint's product if only the knobs
/// before index `known` have fixed values.
int64_t bound(const Constraint &constraint, const std::vector<Knob> &knobs, const SchedulePoint &point, size_t known,
              bool largest) {
  const bool product = constraint.kind == Constraint::Kind::ProductAtMost;
  int64_t total = product ? constraint.factor : 1;
  for (size_t i = 0; i < constraint.knobs.size(); ++i) {
    size_t knob = constraint.knobs[i];
    const bool takeLast = product == largest; // larger tiles mean fewer tasks
    int64_t value = knob < known ? point[knob] : takeLast ? knobs[knob].values.back() : knobs[knob].values.front();
    total = times(total, product ? value : llvm::divideCeilSigned(constraint.sizes[i], std::max<int64_t>(value, 1)));
  }
  return total;
}

/// Returns the smallest possible sum of the constraint's terms. The knobs from index `known` on have their first
/// values.
int64_t leastSum(const Constraint &constraint, const std::vector<Knob> &knobs, const SchedulePoint &point,
                 size_t known) {
  int64_t total = 0;
  for (const Constraint::Term &term : constraint.terms) {
    int64_t product = term.factor;
    for (size_t knob : term.knobs)
      product = times(product, knob < known ? point[knob] : knobs[knob].values.front());
    total = std::min(most, total + product);
  }
  return total;
}

bool mayHold(const Constraint &constraint, const std::vector<Knob> &knobs, const SchedulePoint &point, size_t known) {
  switch (constraint.kind) {
  case Constraint::Kind::ProductAtMost:
  case Constraint::Kind::TasksAtMost:
    return bound(constraint, knobs, point, known, /*largest=*/false) <= constraint.limit;
  case Constraint::Kind::TasksAtLeast:
    return bound(constraint, knobs, point, known, /*largest=*/true) >= constraint.limit;
  case Constraint::Kind::Together:
    if (constraint.knobs[0] >= known || point[constraint.knobs[0]] != constraint.value)
      return true;
    for (size_t i = 1; i < constraint.knobs.size(); ++i)
      if (constraint.knobs[i] < known && point[constraint.knobs[i]] >= constraint.sizes[i])
        return false;
    return true;
  case Constraint::Kind::SumAtMost:
    return leastSum(constraint, knobs, point, known) <= constraint.limit;
  }
  return true;
}

const Knob *findKnob(const std::vector<Knob> &knobs, std::string_view name) {
  for (const Knob &knob : knobs)
    if (knob.name == name)
      return &knob;
  return nullptr;
}
} // namespace

SchedulePoint ScheduleSpace::initial() const {
  SchedulePoint point;
  for (const Knob &knob : knobs)
    point.push_back(knob.initial);
  return point;
}

const Constraint *ScheduleSpace::broken(const SchedulePoint &point, size_t known) const {
  for (const Constraint &constraint : constraints)
    if (!mayHold(constraint, knobs, point, known))
      return &constraint;
  return nullptr;
}

bool ScheduleSpace::contains(const SchedulePoint &point) const {
  if (point.size() != knobs.size())
    return false;
  for (size_t i = 0; i < knobs.size(); ++i)
    if (std::find(knobs[i].values.begin(), knobs[i].values.end(), point[i]) == knobs[i].values.end())
      return false;
  return point == initial() || !broken(point, knobs.size());
}

std::vector<SchedulePoint> ScheduleSpace::points(int64_t *visited) const {
  std::vector<SchedulePoint> found;
  SchedulePoint point(knobs.size());
  int64_t looked = 0;
  auto extend = [&](auto &self, size_t known) -> void {
    if (known == knobs.size()) {
      found.push_back(point);
      return;
    }
    for (int64_t value : knobs[known].values) {
      point[known] = value;
      ++looked;
      if (!broken(point, known + 1))
        self(self, known + 1);
    }
  };
  extend(extend, 0);
  // The target's default is always a point of the space, even if it violates a constraint.
  SchedulePoint own = initial();
  auto position = std::lower_bound(found.begin(), found.end(), own);
  if (position == found.end() || *position != own)
    found.insert(position, own);
  if (visited)
    *visited = looked;
  return found;
}

SchedulePoint ScheduleSpace::nearest(const std::vector<std::pair<std::string, int64_t>> &values) const {
  SchedulePoint point = initial();
  for (const auto &[name, wanted] : values)
    for (size_t i = 0; i < knobs.size(); ++i) {
      if (knobs[i].name != name)
        continue;
      auto distance = [&](int64_t value) {
        return std::abs(std::log2(double(std::max<int64_t>(value, 1))) -
                        std::log2(double(std::max<int64_t>(wanted, 1)))) +
               (value == wanted ? 0 : 1e-6);
      };
      point[i] = *std::min_element(knobs[i].values.begin(), knobs[i].values.end(),
                                   [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
    }
  SchedulePoint own = initial();
  for (size_t i = knobs.size(); i-- > 0 && !contains(point);)
    point[i] = own[i];
  return point;
}

std::string ScheduleSpace::numericsClass(const SchedulePoint &point) const {
  std::string text;
  for (size_t i = 0; i < knobs.size(); ++i)
    if (knobs[i].reorders)
      text += (text.empty() ? "" : " ") + knobs[i].name + "=" + std::to_string(point[i]);
  return text;
}

std::string ScheduleSpace::print(const SchedulePoint &point) const {
  std::string text;
  for (size_t i = 0; i < knobs.size(); ++i)
    text += (text.empty() ? "" : " ") + knobs[i].name + "=" + std::to_string(point[i]);
  return text;
}

std::optional<std::vector<std::pair<std::string, int64_t>>> parsePoint(std::string_view text) {
  std::vector<std::pair<std::string, int64_t>> values;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size()), equals = text.find('=');
    int64_t value = 0;
    if (equals == 0 || equals >= end)
      return std::nullopt;
    auto parsed = std::from_chars(text.data() + equals + 1, text.data() + end, value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + end)
      return std::nullopt;
    values.emplace_back(text.substr(0, equals), value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}

std::optional<SchedulePoint> ScheduleSpace::parse(std::string_view text, std::string &why) const {
  auto values = parsePoint(text);
  if (!values) {
    why = "'" + std::string(text) + "' is not of the form knob=number knob=number";
    return std::nullopt;
  }
  SchedulePoint point(knobs.size());
  std::vector<bool> given(knobs.size());
  for (const auto &[name, value] : *values) {
    const Knob *knob = findKnob(knobs, name);
    if (!knob) {
      why = "there is no knob '" + name + "'";
      return std::nullopt;
    }
    if (std::find(knob->values.begin(), knob->values.end(), value) == knob->values.end()) {
      why = name + "=" + std::to_string(value) + " is not one of the knob's values";
      return std::nullopt;
    }
    point[size_t(knob - knobs.data())] = value;
    given[size_t(knob - knobs.data())] = true;
  }
  for (size_t i = 0; i < knobs.size(); ++i)
    if (!given[i]) {
      why = "it has no value for " + knobs[i].name;
      return std::nullopt;
    }
  if (const Constraint *constraint = broken(point, knobs.size()); constraint && point != initial()) {
    why = "it breaks a constraint: " + constraint->why;
    return std::nullopt;
  }
  return point;
}

std::string ScheduleSpace::print() const {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  for (const Knob &knob : knobs) {
    out << knob.name << ":";
    for (int64_t value : knob.values)
      out << " " << value;
    out << " (default " << knob.initial << (knob.reorders ? ", changes the order of sums)\n" : ")\n");
  }
  for (const Constraint &constraint : constraints) {
    const bool product = constraint.kind == Constraint::Kind::ProductAtMost;
    if (constraint.kind == Constraint::Kind::Together) {
      out << knobs[constraint.knobs[0]].name << " is " << constraint.value << " only if";
      for (size_t i = 1; i < constraint.knobs.size(); ++i)
        out << (i == 1 ? " " : " and ") << knobs[constraint.knobs[i]].name << " < " << constraint.sizes[i];
    } else if (constraint.kind == Constraint::Kind::SumAtMost) {
      out << "at most " << constraint.limit << ":";
      for (size_t i = 0; i < constraint.terms.size(); ++i) {
        out << (i ? " + " : " ") << constraint.terms[i].factor;
        for (size_t knob : constraint.terms[i].knobs)
          out << " * " << knobs[knob].name;
      }
    } else {
      out << (constraint.kind == Constraint::Kind::TasksAtLeast ? "at least " : "at most ") << constraint.limit << ":";
      if (product)
        out << " " << constraint.factor;
      for (size_t i = 0; i < constraint.knobs.size(); ++i) {
        out << (product || i ? " * " : " ");
        if (!product)
          out << "ceil(" << constraint.sizes[i] << " / ";
        out << knobs[constraint.knobs[i]].name << (product ? "" : ")");
      }
    }
    out << " (" << constraint.why << ")\n";
  }
  return out.str();
}

} // namespace tilewright
