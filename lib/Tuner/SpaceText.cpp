//===- SpaceText.cpp - schedule spaces as JSON -----------------------------------------------===//
//
// Test: test/Unit/Tuner/ScheduleSpaceTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/SpaceText.h"
#include "dialects/Schedule/KnobNames.h"
#include "lib/Interfaces/JsonText.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

namespace json = llvm::json;

namespace tilewright {
namespace {

constexpr llvm::StringLiteral kinds[] = {"product at most", "tasks at most", "tasks at least", "together",
                                         "sum at most"};

json::Array numbers(const std::vector<int64_t> &list) {
  json::Array array;
  for (int64_t number : list)
    array.push_back(number);
  return array;
}

json::Array knobNumbers(const std::vector<size_t> &list) {
  return numbers(std::vector<int64_t>(list.begin(), list.end()));
}

bool readNumbers(const json::Array *array, std::vector<int64_t> &list) {
  if (!array)
    return false;
  for (const json::Value &value : *array) {
    std::optional<int64_t> number = value.getAsInteger();
    if (!number)
      return false;
    list.push_back(*number);
  }
  return true;
}

bool readKnob(const json::Value &value, Knob &knob) {
  const json::Object *object = value.getAsObject();
  if (!object || !object->getString("name") || !object->getInteger("initial") ||
      !readNumbers(object->getArray("values"), knob.values))
    return false;
  knob.name = schedule::presentKnobName(*object->getString("name")).str();
  knob.initial = *object->getInteger("initial");
  knob.reorders = object->getBoolean("reorders").value_or(false);
  return std::is_sorted(knob.values.begin(), knob.values.end()) &&
         std::find(knob.values.begin(), knob.values.end(), knob.initial) != knob.values.end();
}

bool readKnobNumbers(const json::Array *array, size_t knobs, std::vector<size_t> &list) {
  std::vector<int64_t> numbers;
  if (!readNumbers(array, numbers))
    return false;
  for (int64_t knob : numbers) {
    if (knob < 0 || size_t(knob) >= knobs)
      return false;
    list.push_back(size_t(knob));
  }
  return true;
}

bool readTerms(const json::Array *array, size_t knobs, std::vector<Constraint::Term> &terms) {
  for (const json::Value &value : array ? *array : json::Array()) {
    const json::Object *object = value.getAsObject();
    std::optional<int64_t> factor = object ? object->getInteger("factor") : std::nullopt;
    if (!factor || *factor < 0 || !readKnobNumbers(object->getArray("knobs"), knobs, terms.emplace_back().knobs))
      return false;
    terms.back().factor = *factor;
  }
  return true;
}

bool readConstraint(const json::Value &value, size_t knobs, Constraint &constraint) {
  const json::Object *object = value.getAsObject();
  if (!object || !object->getString("kind") || !readKnobNumbers(object->getArray("knobs"), knobs, constraint.knobs) ||
      !readNumbers(object->getArray("sizes"), constraint.sizes) ||
      !readTerms(object->getArray("terms"), knobs, constraint.terms))
    return false;
  const auto *kind = std::find(std::begin(kinds), std::end(kinds), *object->getString("kind"));
  if (kind == std::end(kinds))
    return false;
  constraint.kind = Constraint::Kind(kind - std::begin(kinds));
  constraint.factor = object->getInteger("factor").value_or(1);
  constraint.limit = object->getInteger("limit").value_or(0);
  constraint.value = object->getInteger("value").value_or(0);
  constraint.why = object->getString("why").value_or("").str();
  if (constraint.kind == Constraint::Kind::SumAtMost)
    return !constraint.terms.empty();
  return !constraint.knobs.empty() &&
         (constraint.kind == Constraint::Kind::ProductAtMost || constraint.sizes.size() == constraint.knobs.size());
}
} // namespace

std::string spaceToText(const ScheduleSpace &space) {
  json::Array knobs, constraints;
  for (const Knob &knob : space.knobs)
    knobs.push_back(json::Object{
        {"name", knob.name}, {"values", numbers(knob.values)}, {"initial", knob.initial}, {"reorders", knob.reorders}});
  for (const Constraint &constraint : space.constraints) {
    json::Object object{{"kind", kinds[int(constraint.kind)]},
                        {"knobs", knobNumbers(constraint.knobs)},
                        {"sizes", numbers(constraint.sizes)},
                        {"factor", constraint.factor},
                        {"limit", constraint.limit},
                        {"value", constraint.value},
                        {"why", constraint.why}};
    json::Array terms;
    for (const Constraint::Term &term : constraint.terms)
      terms.push_back(json::Object{{"factor", term.factor}, {"knobs", knobNumbers(term.knobs)}});
    if (!terms.empty())
      object["terms"] = std::move(terms);
    constraints.push_back(std::move(object));
  }
  return jsonText(json::Object{{"knobs", std::move(knobs)}, {"constraints", std::move(constraints)}});
}

std::optional<ScheduleSpace> spaceFromText(std::string_view text, std::string &why) {
  llvm::Expected<json::Value> value = parseJson(llvm::StringRef(text.data(), text.size()));
  if (!value) {
    why = "it is not JSON: " + llvm::toString(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  const json::Array *knobs = object ? object->getArray("knobs") : nullptr;
  const json::Array *constraints = object ? object->getArray("constraints") : nullptr;
  ScheduleSpace space;
  bool good = knobs && constraints;
  for (size_t i = 0; good && i < knobs->size(); ++i)
    good = readKnob((*knobs)[i], space.knobs.emplace_back());
  for (size_t i = 0; good && i < constraints->size(); ++i)
    good = readConstraint((*constraints)[i], space.knobs.size(), space.constraints.emplace_back());
  if (good)
    return space;
  why = "it is not a schedule space";
  return std::nullopt;
}

} // namespace tilewright
