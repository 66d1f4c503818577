//===- ReadSignature.cpp - meanings of the graph's inputs and outputs -----------------===//
#include "lib/Import/TorchExport/Reader/Reader.h"

namespace tilewright::exported {
namespace {

Input readInput(const JsonView &view, const Graph &graph, const SizesByName &sizes) {
  auto [kind, spec] = view.alternative();
  Input input;
  auto weightNamed = [&](const char *key, Input::Kind of) {
    input.kind = of;
    input.weight = spec[key].text();
    input.name = spec["arg"]["name"].text();
    input.value = TensorName{input.name};
    if (view.ok() && !graph.tensors.count(input.name))
      view.fail("'" + input.name + "' is not a tensor of this graph");
  };
  if (kind == "parameter") {
    weightNamed("parameter_name", Input::Kind::Parameter);
  } else if (kind == "buffer") {
    weightNamed("buffer_name", Input::Kind::Buffer);
  } else if (kind == "tensor_constant") {
    weightNamed("tensor_constant_name", Input::Kind::Constant);
  } else if (kind == "constant_input") {
    input.kind = Input::Kind::Fixed;
    input.name = spec["name"].text();
  } else if (kind == "token") {
    input.kind = Input::Kind::Fixed;
  } else if (kind == "user_input") {
    input.value = readArgument(spec["arg"], graph, sizes);
    if (const auto *tensor = std::get_if<TensorName>(&input.value))
      input.name = tensor->name;
    else if (std::holds_alternative<SizeValue>(input.value))
      input.name = spec["arg"]["as_sym_int"]["as_name"].text();
    else
      input.kind = Input::Kind::Fixed;
  } else {
    input.value = Foreign{kind == "custom_obj" ? "an object of a custom class" : "a " + kind};
    input.name = kind;
  }
  return input;
}

Output readOutput(const JsonView &view, const Graph &graph, const SizesByName &sizes) {
  auto [kind, spec] = view.alternative();
  Output output;
  if (kind == "user_output") {
    output.value = readArgument(spec["arg"], graph, sizes);
    return output;
  }
  output.kind = kind == "token" ? Output::Kind::Token : Output::Kind::Mutation;
  for (const char *key : {"buffer_name", "parameter_name", "user_input_name"})
    if (std::optional<JsonView> name = spec.find(key))
      output.name = name->text();
  if (output.name.empty())
    output.name = kind;
  return output;
}

/// Collects the names of a pytree's leaves, in order. A name consists of one part per node on the path to the leaf: the
/// key in a dict or in a class that torch serializes like a dict, and the index in other nodes. If the pytree has an
/// unexpected node, all names are indices.
class LeafNames {
public:
  std::vector<std::string> names;

  bool walk(const nlohmann::json &spec, const std::string &prefix, unsigned depth) {
    constexpr unsigned deepest = 32;
    auto children = spec.is_object() ? spec.find("children_spec") : spec.end();
    if (depth > deepest || !spec.is_object() || children == spec.end() || !children->is_array())
      return false;
    auto type = spec.find("type");
    if (type == spec.end() || type->is_null()) {
      names.push_back(prefix);
      return true;
    }
    std::vector<std::string> keys = keysOf(spec, children->size());
    for (size_t i = 0; i < keys.size(); ++i)
      if (!walk((*children)[i], prefix.empty() ? keys[i] : prefix + "." + keys[i], depth + 1))
        return false;
    return true;
  }

private:
  static std::vector<std::string> keysOf(const nlohmann::json &spec, size_t count) {
    std::vector<std::string> keys;
    auto context = spec.find("context");
    if (context != spec.end() && context->is_string()) {
      auto list = nlohmann::json::parse(*context->get_ptr<const std::string *>(), nullptr, false);
      if (list.is_array() && list.size() == count)
        for (const auto &key : list)
          if (const auto *name = key.get_ptr<const std::string *>())
            keys.push_back(*name);
    }
    if (keys.size() == count)
      return keys;
    keys.clear();
    for (size_t i = 0; i < count; ++i)
      keys.push_back(std::to_string(i));
    return keys;
  }
};

/// Names the results after the structure that the model returns.
void nameOutputs(const JsonView &view, std::vector<Output> &outputs) {
  std::vector<Output *> users;
  for (Output &output : outputs)
    if (output.kind == Output::Kind::User)
      users.push_back(&output);
  for (size_t i = 0; i < users.size(); ++i)
    users[i]->name = std::to_string(i);
  std::optional<JsonView> calls = view.find("module_call_graph");
  std::vector<JsonView> list = calls ? calls->list() : std::vector<JsonView>();
  std::optional<JsonView> signature = list.empty() ? std::nullopt : list[0].find("signature");
  std::optional<JsonView> structure = signature ? signature->find("out_spec") : std::nullopt;
  if (!structure)
    return;
  auto spec = nlohmann::json::parse(structure->text(), nullptr, false);
  LeafNames leaves;
  if (spec.is_array() && spec.size() == 2 && leaves.walk(spec[1], "", 0) && leaves.names.size() == users.size())
    for (size_t i = 0; i < users.size(); ++i)
      users[i]->name = leaves.names[i].empty() ? "0" : leaves.names[i];
}

} // namespace

void readSignature(const JsonView &view, Program &program, const SizesByName &sizes) {
  JsonView signature = view["signature"];
  for (const JsonView &input : signature["input_specs"].list())
    program.inputs.push_back(readInput(input, program.graph, sizes));
  for (const JsonView &output : signature["output_specs"].list())
    program.outputs.push_back(readOutput(output, program.graph, sizes));
  nameOutputs(view, program.outputs);
}

} // namespace tilewright::exported
