//===- ReadGraph.cpp - nodes, attributes, and types of values ------------------------===//
//
// Test: test/Unit/Import/ONNX
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/Reader/Reader.h"

namespace tilewright::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

Size readSize(pbf_reader message) {
  Size size;
  while (message.next())
    if (message.tag() == 1) {
      int64_t number = message.get_int64();
      if (number < 0 || number > (int64_t(1) << 48)) // some exporters store -1 for unknown sizes
        size = std::monostate();
      else
        size = number;
    } else if (message.tag() == 2) {
      size = readText(message);
    } else {
      message.skip();
    }
  if (auto *name = std::get_if<std::string>(&size); name && name->empty())
    size = std::monostate();
  return size;
}

void readTensorType(pbf_reader message, ValueInfo &value) {
  while (message.next())
    if (message.tag() == 1) {
      value.type = ElementType(message.get_int32());
    } else if (message.tag() == 2) {
      pbf_reader shape = message.get_message();
      value.sizes.emplace();
      while (shape.next())
        if (shape.tag() == 1)
          value.sizes->push_back(readSize(shape.get_message()));
        else
          shape.skip();
      if (value.sizes->size() > 64)
        throw BadModel("'" + value.name + "' has " + std::to_string(value.sizes->size()) + " dimensions");
    } else {
      message.skip();
    }
}

void readType(pbf_reader message, ValueInfo &value) {
  static constexpr std::pair<unsigned, const char *> foreign[] = {
      {4, "a sequence"}, {5, "a map"}, {7, "an opaque type"}, {8, "a sparse tensor"}, {9, "an optional"}};
  while (message.next()) {
    if (message.tag() == 1) {
      readTensorType(message.get_message(), value);
      continue;
    }
    for (auto [tag, what] : foreign)
      if (message.tag() == tag)
        value.foreign = what;
    message.skip();
  }
}

} // namespace

std::string readText(pbf_reader &field) { return field.get_string(); }

void readIntegers(pbf_reader &field, std::vector<int64_t> &list) {
  if (field.wire_type() != pbf_wire_type::length_delimited) {
    list.push_back(field.get_int64());
    return;
  }
  for (int64_t item : field.get_packed_int64())
    list.push_back(item);
}

ValueInfo readValueInfo(pbf_reader message) {
  ValueInfo value;
  std::optional<pbf_reader> type;
  while (message.next())
    if (message.tag() == 1)
      value.name = readText(message);
    else if (message.tag() == 2)
      type = message.get_message();
    else
      message.skip();
  if (type)
    readType(*type, value);
  return value;
}

Attribute readAttribute(pbf_reader message, std::string &name, const OpenFile &open, unsigned depth) {
  using Kind = Attribute::Kind;
  // Indexed by AttributeProto.AttributeType.
  static constexpr Kind kinds[] = {Kind::None,    Kind::Float,   Kind::Int,     Kind::String,  Kind::Tensor,
                                   Kind::Graph,   Kind::Floats,  Kind::Ints,    Kind::Strings, Kind::Foreign,
                                   Kind::Foreign, Kind::Foreign, Kind::Foreign, Kind::Foreign, Kind::Foreign};
  Attribute attribute;
  int32_t type = 0;
  Kind seen = Kind::None; // the kind if the file has no type, as in IR version 1
  while (message.next()) {
    switch (message.tag()) {
    case 1:
      name = readText(message);
      break;
    case 2:
      attribute.number = message.get_float();
      seen = Kind::Float;
      break;
    case 3:
      attribute.integer = message.get_int64();
      seen = Kind::Int;
      break;
    case 4:
      attribute.text = readText(message);
      seen = Kind::String;
      break;
    case 5:
      attribute.tensor = readTensor(message.get_message(), open);
      seen = Kind::Tensor;
      break;
    case 6:
      attribute.graph = std::make_shared<const Graph>(readGraph(message.get_message(), open, depth + 1));
      seen = Kind::Graph;
      break;
    case 7:
      if (message.wire_type() == pbf_wire_type::length_delimited)
        for (float item : message.get_packed_float())
          attribute.numbers.push_back(item);
      else
        attribute.numbers.push_back(message.get_float());
      seen = Kind::Floats;
      break;
    case 8:
      readIntegers(message, attribute.integers);
      seen = Kind::Ints;
      break;
    case 9:
      attribute.texts.push_back(readText(message));
      seen = Kind::Strings;
      break;
    case 20:
      type = message.get_enum();
      break;
    case 21:
      attribute.reference = readText(message);
      break;
    default:
      message.skip();
    }
  }
  attribute.kind = type > 0 && type < int32_t(std::size(kinds)) ? kinds[type] : type ? Kind::Foreign : seen;
  if (attribute.kind == Kind::Graph && !attribute.graph)
    throw BadModel("the attribute '" + name + "' has the type graph but contains no graph");
  return attribute;
}

Node readNode(pbf_reader message, const OpenFile &open, unsigned depth) {
  Node node;
  while (message.next()) {
    switch (message.tag()) {
    case 1:
      node.inputs.push_back(readText(message));
      break;
    case 2:
      node.outputs.push_back(readText(message));
      break;
    case 3:
      node.name = readText(message);
      break;
    case 4:
      node.op = readText(message);
      break;
    case 5: {
      std::string name;
      Attribute attribute = readAttribute(message.get_message(), name, open, depth);
      if (!node.attributes.try_emplace(name, std::move(attribute)).second)
        throw BadModel("a node has the attribute '" + name + "' twice");
      break;
    }
    case 7:
      node.domain = readText(message);
      break;
    case 8:
      node.overload = readText(message);
      break;
    default:
      message.skip();
    }
  }
  if (node.domain == "ai.onnx")
    node.domain.clear();
  return node;
}

Graph readGraph(pbf_reader message, const OpenFile &open, unsigned depth) {
  if (depth > deepest)
    throw BadModel("graphs are nested more than " + std::to_string(deepest) + " levels deep");
  Graph graph;
  while (message.next()) {
    switch (message.tag()) {
    case 1:
      graph.nodes.push_back(readNode(message.get_message(), open, depth));
      break;
    case 2:
      graph.name = readText(message);
      break;
    case 5: {
      Tensor tensor = readTensor(message.get_message(), open);
      std::string name = tensor.name;
      if (!graph.initializers.try_emplace(name, std::move(tensor)).second)
        throw BadModel("the initializer '" + name + "' occurs twice");
      break;
    }
    case 11:
      graph.inputs.push_back(readValueInfo(message.get_message()));
      break;
    case 12:
      graph.outputs.push_back(readValueInfo(message.get_message()));
      break;
    case 13: {
      ValueInfo value = readValueInfo(message.get_message());
      std::string name = value.name;
      graph.values.try_emplace(name, std::move(value));
      break;
    }
    case 15: { // the name of a SparseTensorProto is that of the tensor with its values
      pbf_reader sparse = message.get_message();
      std::string name;
      while (sparse.next())
        if (sparse.tag() == 1) {
          pbf_reader values = sparse.get_message();
          while (values.next())
            if (values.tag() == 8)
              name = readText(values);
            else
              values.skip();
        } else {
          sparse.skip();
        }
      graph.sparseInitializers.push_back(name);
      break;
    }
    default:
      message.skip();
    }
  }
  return graph;
}

} // namespace tilewright::onnx
