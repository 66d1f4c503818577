//===- ReadModel.cpp - the outermost messages of an .onnx file ------------------------===//
//
// Test: test/Unit/Import/ONNX
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/Reader/Reader.h"
#include <protozero/exception.hpp>

namespace tilewright::onnx {
namespace {

using protozero::pbf_reader;

constexpr int64_t newestIr = 14; ///< IR version of onnx 1.23

void readOpset(pbf_reader message, Opsets &opsets) {
  std::string domain;
  int64_t version = 0;
  while (message.next())
    if (message.tag() == 1)
      domain = readText(message);
    else if (message.tag() == 2)
      version = message.get_int64();
    else
      message.skip();
  if (domain == "ai.onnx")
    domain.clear();
  if (version < 1)
    throw BadModel("the version of the operator set '" + domain + "' is " + std::to_string(version));
  opsets[domain] = version;
}

Function readFunction(pbf_reader message, const OpenFile &open) {
  Function function;
  while (message.next()) {
    switch (message.tag()) {
    case 1:
      function.name = readText(message);
      break;
    case 4:
      function.inputs.push_back(readText(message));
      break;
    case 5:
      function.outputs.push_back(readText(message));
      break;
    case 6:
      function.attributes.push_back(readText(message));
      break;
    case 7:
      function.nodes.push_back(readNode(message.get_message(), open, 1));
      break;
    case 9:
      readOpset(message.get_message(), function.opsets);
      break;
    case 10:
      function.domain = readText(message);
      break;
    case 11: {
      std::string name;
      Attribute attribute = readAttribute(message.get_message(), name, open, 1);
      function.defaults.try_emplace(name, std::move(attribute));
      break;
    }
    case 13:
      function.overload = readText(message);
      break;
    default:
      message.skip();
    }
  }
  if (function.domain == "ai.onnx")
    function.domain.clear();
  return function;
}

Model readAll(std::string_view file, const OpenFile &open) {
  Model model;
  bool hasGraph = false;
  pbf_reader message(file.data(), file.size());
  while (message.next()) {
    switch (message.tag()) {
    case 1:
      model.irVersion = message.get_int64();
      break;
    case 2:
      model.producer = readText(message);
      break;
    case 7:
      if (hasGraph)
        throw BadModel("it has two graphs");
      model.graph = readGraph(message.get_message(), open, 0);
      hasGraph = true;
      break;
    case 8:
      readOpset(message.get_message(), model.opsets);
      break;
    case 25:
      model.functions.push_back(readFunction(message.get_message(), open));
      break;
    default:
      message.skip();
    }
  }
  if (!hasGraph)
    throw BadModel("it has no graph; is it an ONNX model?");
  if (model.irVersion < 1 || model.irVersion > newestIr)
    throw BadModel("its IR version is " + std::to_string(model.irVersion) + "; those up to " +
                   std::to_string(newestIr) + " are read");
  if (model.opsets.empty())
    model.opsets[""] = 1; // the default of files with IR version 1 and 2
  return model;
}

} // namespace

std::optional<Model> readModel(std::string_view file, const OpenFile &open, std::string &error) {
  try {
    return readAll(file, open);
  } catch (const BadModel &problem) {
    error = problem.what();
  } catch (const protozero::exception &) {
    error = "it is no ONNX model, or it is damaged: its protobuf encoding is broken";
  }
  return std::nullopt;
}

} // namespace tilewright::onnx
