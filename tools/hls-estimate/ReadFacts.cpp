//===- ReadFacts.cpp - read designs from JSON ---------------------------------------------===//
#include "tools/hls-estimate/ReadFacts.h"
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tilewright::hls {
namespace {

using Json = nlohmann::json;

constexpr int mostDepth = 200;

OperatorCounts countsOf(const Json &json) { return json.get<OperatorCounts>(); }

ArrayFacts arrayOf(const Json &json) {
  const std::pair<const char *, ArrayFacts::Kind> kinds[] = {
      {"port", ArrayFacts::Kind::Port},         {"local", ArrayFacts::Kind::Local},
      {"channel", ArrayFacts::Kind::Channel},   {"rom", ArrayFacts::Kind::Rom},
      {"register", ArrayFacts::Kind::Register}, {"held", ArrayFacts::Kind::Held},
      {"unread", ArrayFacts::Kind::Unread}};
  for (auto [name, kind] : kinds)
    if (json.at(0) == name)
      return {kind, json.at(1), json.at(2), 32};
  throw std::runtime_error("unknown kind of array " + json.at(0).dump());
}

NestFacts nestOf(const Json &json) {
  NestFacts nest;
  nest.trips = json.value("trips", std::vector<int64_t>());
  nest.asked = !json.contains("auto");
  nest.ii = json.value("ii", int64_t(1));
  nest.operators = countsOf(json.at("ops"));
  nest.path = countsOf(json.at("path"));
  for (const Json &one : json.value("products", Json::array()))
    nest.products.push_back({one.at(0), one.at(2), one.size() > 3}); // one.at(1): bit width of the index, unused
  nest.quotients = json.value("quotients", std::vector<int64_t>());
  for (const Json &one : json.value("rec", Json::array()))
    nest.recurrences.push_back({one.at(0), countsOf(one.at(1))});
  if (json.contains("columns"))
    nest.columns = {json.at("columns").at(0), json.at("columns").at(1) == 1, json.at("columns").size() > 2};
  for (const Json &one : json.value("ports", Json::array()))
    nest.arrays.push_back({one.at(0), one.at(1), one.at(2), one.at(3)});
  for (const Json &one : json.value("queues", Json::array())) {
    QueueAccess access{one.at(0), one.at(1) == "w", one.at(2), {}};
    for (const Json &condition : one.at(3))
      access.when.push_back(
          {condition.at(0).get<std::vector<std::pair<size_t, int64_t>>>(), condition.at(1), condition.size() > 2});
    nest.queues.push_back(std::move(access));
  }
  return nest;
}

std::vector<StepFacts> stepsOf(const Json &body) {
  std::vector<StepFacts> steps;
  for (const Json &json : body) {
    StepFacts step;
    if (json.contains("body")) {
      step.inside = stepsOf(json.at("body"));
      step.kind = json.contains("loop") ? StepFacts::Kind::Loop : StepFacts::Kind::Call;
      for (const Json &trips : json.value("loop", Json::array()))
        step.trips *= trips.get<int64_t>();
    } else {
      step.nest = nestOf(json);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

void checkArrays(const std::vector<StepFacts> &steps, size_t arrays) {
  for (const StepFacts &step : steps) {
    for (const ArrayAccess &access : step.nest.arrays)
      if (access.array >= arrays)
        throw std::runtime_error("an access has the array index " + std::to_string(access.array) +
                                 ", but the design has " + std::to_string(arrays) + " arrays");
    checkArrays(step.inside, arrays);
  }
}

DesignFacts designOf(const Json &json) {
  DesignFacts design;
  design.name = json.at("name");
  design.reassociates = json.at("reassociates");
  for (const Json &one : json.at("arrays"))
    design.arrays.push_back(arrayOf(one));
  for (const Json &one : json.at("queues"))
    design.queues.push_back({one.at(0), one.at(1), 32});
  for (const Json &one : json.at("tasks"))
    design.tasks.push_back({one.at("name"), one.value("reads", std::vector<size_t>()),
                            one.value("writes", std::vector<size_t>()), stepsOf(one.at("body"))});
  for (const TaskFacts &task : design.tasks)
    checkArrays(task.steps, design.arrays.size());
  return design;
}

} // namespace

bool readFacts(const std::string &path, std::vector<DesignFacts> &designs, std::string &error) {
  std::ifstream file(path);
  try {
    // The nesting depth is limited, because steps are read recursively.
    const Json all = Json::parse(file, [](int depth, Json::parse_event_t, Json &) {
      if (depth > mostDepth)
        throw std::runtime_error("lists and objects are nested more than " + std::to_string(mostDepth) +
                                 " levels deep");
      return true;
    });
    for (const Json &one : all)
      designs.push_back(designOf(one));
  } catch (const std::exception &why) {
    error = path + ": " + why.what();
    return false;
  }
  return true;
}

} // namespace tilewright::hls
