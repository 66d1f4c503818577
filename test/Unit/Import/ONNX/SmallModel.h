//===- SmallModel.h - builds small ONNX models in memory -----------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_ONNXMODEL_SMALLMODEL_H
#define TILEWRIGHT_TEST_UNIT_ONNXMODEL_SMALLMODEL_H

#include "lib/Import/ONNX/Reader/Model.h"

#include <protozero/pbf_writer.hpp>

namespace tilewright::onnx::test {

using Fields = std::function<void(protozero::pbf_writer &)>;

inline void message(protozero::pbf_writer &to, unsigned field, const Fields &fields) {
  protozero::pbf_writer inner(to, field);
  fields(inner);
}

/// Returns a function that writes a TensorProto of float32 with raw elements.
inline Fields rawTensor(std::string name, std::vector<int64_t> sizes, std::string bytes) {
  return [=](protozero::pbf_writer &tensor) {
    tensor.add_packed_int64(1, sizes.begin(), sizes.end());
    tensor.add_int32(2, 1);
    tensor.add_string(8, name);
    tensor.add_bytes(9, bytes);
  };
}

/// Returns a function that writes a TensorProto of float32 whose elements are in a file next to the model.
inline Fields externalTensor(std::string name, std::string location, std::string offset, std::string length) {
  return [=](protozero::pbf_writer &tensor) {
    tensor.add_int64(1, 2); // sizes may be encoded without packing
    tensor.add_int32(2, 1);
    tensor.add_string(8, name);
    for (auto [key, value] : {std::pair("location", location), {"offset", offset}, {"length", length}})
      message(tensor, 13, [&](protozero::pbf_writer &entry) {
        entry.add_string(1, key);
        entry.add_string(2, value);
      });
    tensor.add_enum(14, 1);
  };
}

/// Returns a function that writes a ValueInfoProto of a float32 tensor [n, 2].
inline Fields batched(std::string name) {
  return [=](protozero::pbf_writer &value) {
    value.add_string(1, name);
    message(value, 2, [](protozero::pbf_writer &type) {
      message(type, 1, [](protozero::pbf_writer &tensor) {
        tensor.add_int32(1, 1);
        message(tensor, 2, [](protozero::pbf_writer &shape) {
          message(shape, 1, [](protozero::pbf_writer &dim) { dim.add_string(2, "n"); });
          message(shape, 1, [](protozero::pbf_writer &dim) { dim.add_int64(1, 2); });
        });
      });
    });
  };
}

inline Fields node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                   Fields more = {}) {
  return [=](protozero::pbf_writer &node) {
    for (const std::string &input : inputs)
      node.add_string(1, input);
    for (const std::string &output : outputs)
      node.add_string(2, output);
    node.add_string(4, op);
    if (more)
      more(node);
  };
}

inline Fields attribute(std::string name, int32_t type, Fields value) {
  return [=](protozero::pbf_writer &node) {
    message(node, 5, [&](protozero::pbf_writer &attribute) {
      attribute.add_string(1, name);
      value(attribute);
      attribute.add_enum(20, type);
    });
  };
}

/// Returns a model with the fields `graph` in its graph and `more` in the model itself.
inline std::string modelWith(const Fields &graph, const Fields &more = {}) {
  std::string bytes;
  protozero::pbf_writer model(bytes);
  model.add_int64(1, 8);
  model.add_string(2, "test");
  message(model, 7, graph);
  message(model, 8, [](protozero::pbf_writer &opset) { opset.add_int64(2, 17); });
  if (more)
    more(model);
  return bytes;
}

inline const std::string weights = std::string(16, '\x3f');

/// Returns a model with Gemm, If with two graphs, a call of a model function, and raw, typed and external initializers.
inline std::string smallModel() {
  auto branch = [](std::string op) -> Fields {
    return [=](protozero::pbf_writer &attribute) {
      message(attribute, 6, [&](protozero::pbf_writer &graph) {
        message(graph, 1, node(op, {"h"}, {"r"}));
        message(graph, 12, batched("r"));
      });
    };
  };
  return modelWith(
      [&](protozero::pbf_writer &graph) {
        message(graph, 1, node("Gemm", {"x", "w", "b"}, {"h"}, attribute("alpha", 1, [](protozero::pbf_writer &a) {
                                 a.add_float(2, 2.0f);
                               })));
        message(graph, 1, node("If", {"c"}, {"i"}, [&](protozero::pbf_writer &n) {
                  attribute("then_branch", 5, branch("Relu"))(n);
                  attribute("else_branch", 5, branch("Neg"))(n);
                }));
        message(graph, 1, node("Twice", {"i"}, {"t"}, [](protozero::pbf_writer &n) { n.add_string(7, "own"); }));
        message(graph, 1, node("ReduceSum", {"t", "e"}, {"y"}, attribute("axes", 7, [](protozero::pbf_writer &a) {
                                 int64_t axes[] = {-1, 0};
                                 a.add_packed_int64(8, axes, axes + 2);
                               })));
        message(graph, 5, rawTensor("w", {2, 2}, weights));
        message(graph, 5, externalTensor("e", "data/w.bin", "4", "8"));
        message(graph, 5, [](protozero::pbf_writer &tensor) {
          tensor.add_int64(1, 2);
          tensor.add_int32(2, 1);
          float numbers[] = {1.5f, -2.0f};
          tensor.add_packed_float(4, numbers, numbers + 2);
          tensor.add_string(8, "b");
        });
        message(graph, 5, [](protozero::pbf_writer &tensor) {
          tensor.add_int32(2, 9);
          int32_t yes[] = {1};
          tensor.add_packed_int32(5, yes, yes + 1);
          tensor.add_string(8, "c");
        });
        message(graph, 11, batched("x"));
        message(graph, 12, batched("y"));
        message(graph, 13, batched("h"));
      },
      [](protozero::pbf_writer &model) {
        message(model, 25, [](protozero::pbf_writer &function) {
          function.add_string(1, "Twice");
          function.add_string(4, "a");
          function.add_string(5, "z");
          message(function, 7, node("Add", {"a", "a"}, {"z"}));
          message(function, 9, [](protozero::pbf_writer &opset) { opset.add_int64(2, 17); });
          function.add_string(10, "own");
        });
      });
}

/// Opens a file next to the model. The only file is "data/w.bin", which has 12 bytes.
inline std::optional<std::string_view> openExternal(const std::string &name, std::string &why) {
  static const char data[12] = {};
  if (name == "data/w.bin")
    return std::string_view(data, sizeof(data));
  why = "there is no such file";
  return std::nullopt;
}

} // namespace tilewright::onnx::test

#endif
