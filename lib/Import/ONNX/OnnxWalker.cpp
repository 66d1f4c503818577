//===- OnnxWalker.cpp - import the nodes of an ONNX graph -----------------------------===//
//
// Inputs of the graph become arguments of @main. Nodes that compute shapes are evaluated (OnnxFolding.cpp). A call of a
// function that the model defines is replaced by the function's nodes, and an If node with a known condition by the
// nodes of the selected branch. Loop and Scan nodes are unrolled. The table imports all other nodes.
//
// The reasons of refused nodes are collected. A node that depends on a refused node is skipped, unless its operator is
// not supported: then the node is refused for this reason.
//
// Test: test/Tools/onnx.test, test/Python/test_onnx.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxWalker.h"
#include "lib/Import/Builder/Complaints.h"
#include "lib/Import/ONNX/OnnxInputSizes.h"
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxOrder.h"
#include "lib/Import/ONNX/OnnxTable.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace tilewright {
namespace {

constexpr int64_t oldestOpset = 1, newestOpset = 28;
constexpr unsigned deepestCalls = 16;
constexpr int64_t mostSteps = 256;    ///< maximum steps of a loop, which is unrolled
constexpr size_t mostNodes = 1 << 17; ///< maximum number of nodes after functions and loops are expanded

class OnnxWalker {
public:
  OnnxWalker(const onnx::Model &model, std::list<onnx::Node> &nodes, MLIRContext &context,
             std::vector<const void *> &weights, std::list<std::vector<uint8_t>> &copies)
      : model(model), inputSizes(model.graph), expanded(nodes), context(&context), graph(context, weights, copies),
        weights(weights) {
    graph.importer.guardsSizes = true;
  }

  llvm::Expected<OwningOpRef<ModuleOp>> run(llvm::ArrayRef<DynamicSize> dynamic) {
    for (const std::string &name : model.graph.sparseInitializers)
      complaints.add("the initializer '" + name + "' is sparse; only dense ones are supported");
    auto version = model.opsets.find("");
    if (version != model.opsets.end() && (version->second < oldestOpset || version->second > newestOpset))
      complaints.add("it is of operator set " + std::to_string(version->second) + "; those from " +
                     std::to_string(oldestOpset) + " to " + std::to_string(newestOpset) + " are supported");
    OnnxScope scope;
    addInitializers(model.graph, scope);
    for (const DynamicSize &size : dynamic)
      inputSizes.makeDynamic(size, complaints);
    inputSizes.addSymbols(graph, complaints);
    for (const onnx::ValueInfo &input : inputSizes.inputs())
      addInput(input, scope);
    addNodes(model.graph.nodes, scope, model.opsets, 0);
    if (complaints.empty())
      addOutputs(scope);
    if (!complaints.empty())
      return complaints.error();
    auto module = graph.builder.finish();
    if (!module)
      return module.takeError();
    auto main = (*module)->lookupSymbol<func::FuncOp>("main");
    for (auto [i, output] : llvm::enumerate(model.graph.outputs))
      main.setResultAttr(i, graph::nameAttrName, StringAttr::get(main.getContext(), output.name));
    weights.resize(weights.size() + needsSeed, nullptr); // the caller passes the seed of random numbers
    return module;
  }

private:
  void addInitializers(const onnx::Graph &from, OnnxScope &scope) {
    for (const auto &[name, tensor] : from.initializers) {
      OnnxValue *value = graph.make();
      value->tensor = &tensor;
      scope.values[name] = value;
    }
  }

  void addInput(const onnx::ValueInfo &input, OnnxScope &scope) {
    OnnxValue *value = graph.make();
    scope.values[input.name] = value;
    auto refuse = [&](const std::string &why) {
      complaints.add("the input '" + input.name + "': " + why);
      value->refused = true;
    };
    if (!input.foreign.empty())
      return refuse("it is " + input.foreign + ", not a tensor");
    auto dtype = isNarrow(input.type) ? std::optional(storageOf(input.type)) : scalarTypeOf(input.type);
    value->narrow = isNarrow(input.type) ? input.type : onnx::ElementType::Undefined;
    if (!dtype)
      return refuse("its elements of " + onnx::elementTypeName(input.type) + " are not supported");
    if (!input.sizes)
      return refuse("its rank is not known; give it a shape");
    TensorMeta meta{*dtype, {}};
    for (const onnx::Size &size : *input.sizes)
      if (const auto *number = std::get_if<int64_t>(&size))
        meta.sizes.push_back(*number);
      else
        meta.sizes.push_back(std::get<std::string>(size));
    auto built = graph.addInput(input.name, meta);
    if (!built)
      return refuse(llvm::toString(built.takeError()));
    value->value = *built;
  }

  static std::string nameOf(const onnx::Node &node) {
    return node.domain.empty() ? node.op : node.domain + "." + node.op;
  }

  const onnx::Function *functionOf(const onnx::Node &node) const {
    for (const onnx::Function &function : model.functions)
      if (function.name == node.op && function.domain == node.domain && function.overload == node.overload)
        return &function;
    return nullptr;
  }

  void addNodes(const std::vector<onnx::Node> &nodes, OnnxScope &scope, const onnx::Opsets &opsets, unsigned depth) {
    for (const onnx::Node *node : inOrderOfUse(nodes))
      addNode(*node, scope, opsets, depth);
  }

  std::string describe(const onnx::Node &node, int64_t version, const std::string &why) {
    return nameOf(node) + " (operator set " + std::to_string(version) + ")" +
           (node.name.empty() ? "" : " '" + node.name + "'") + ": " + why;
  }

  void refuseResults(const onnx::Node &node, OnnxScope &scope) {
    for (const std::string &output : node.outputs)
      if (!output.empty()) {
        scope.values[output] = graph.make();
        scope.values[output]->refused = true;
      }
  }

  void addNode(const onnx::Node &node, OnnxScope &scope, const onnx::Opsets &opsets, unsigned depth) {
    if (++visited > mostNodes || depth > deepestCalls) {
      complaints.add("its functions and loops expand to too many nodes, or are nested too deeply");
      return refuseResults(node, scope);
    }
    auto opset = opsets.find(node.domain);
    int64_t version = opset == opsets.end() ? 0 : opset->second;
    if (const onnx::Function *function = functionOf(node))
      return call(node, *function, scope, depth);
    if (node.op == "If" && node.domain.empty() && branch(node, scope, opsets, depth))
      return;
    if ((node.op == "Scan" || node.op == "Loop") && node.domain.empty() && version >= 9)
      return loop(node, scope, opsets, version, depth);
    auto entry = onnxTable().find(nameOf(node));
    bool follows = false;
    for (const std::string &input : node.inputs)
      if (const OnnxValue *value = input.empty() ? nullptr : scope.find(input))
        follows |= value->refused;
    std::string name = node.name.empty() ? node.op : node.op + " " + node.name;
    OnnxNode n(graph, scope, node, version, NameLoc::get(StringAttr::get(context, name)));
    Results results = Results::none();
    bool folded = false;
    if (!version)
      n.refuse("the model does not import an operator set of its domain '" + node.domain + "'");
    else if (!follows && foldOnnx(n))
      folded = true;
    else if (entry == onnxTable().end() && !(follows && isFoldedOnly(node.op) && node.domain.empty()))
      n.refuse("this operator is not supported");
    else if (!follows && !n.failed())
      results = written(n, entry->second);
    if (n.failed() || follows) {
      if (n.failed())
        complaints.add(describe(node, version, n.reason));
      return refuseResults(node, scope);
    }
    setResults(node, n, results, folded, scope);
  }

  /// Calls the import function `write` for a node, and verifies each op that it emits, because a file may contain nodes
  /// whose operands have wrong types or sizes.
  Results written(OnnxNode &n, OnnxImporting write) {
    Block &block = graph.importer.function.front();
    Operation *before = block.empty() ? nullptr : &block.back();
    Results results = write(n);
    std::string why;
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      why += (why.empty() ? "" : "; ") + diagnostic.str();
      return success();
    });
    for (Operation *op = before          ? before->getNextNode()
                         : block.empty() ? nullptr
                                         : &block.front();
         op && !n.failed(); op = op->getNextNode())
      if (mlir::failed(mlir::verify(op)))
        n.refuse("its operands do not fit: " + why);
    return results;
  }

  void setResults(const onnx::Node &node, OnnxNode &n, const Results &results, bool folded, OnnxScope &scope) {
    for (auto [i, output] : llvm::enumerate(node.outputs)) {
      if (output.empty())
        continue;
      OnnxValue *value = graph.make();
      scope.values[output] = value;
      if (folded && i < n.knownResults.size())
        value->known = n.knownResults[i];
      if (folded && n.constantResult)
        value->tensor = n.constantResult;
      if (folded)
        continue;
      if (i < results.values.size() && results.values[i]) {
        value->value = results.values[i];
        value->narrow = n.narrowResult;
        continue;
      }
      value->refused = true;
      complaints.add(
          describe(node, n.version, "its result " + std::to_string(i) + " ('" + output + "') is not supported"));
    }
  }

  /// Inlines a call of a function that the model defines.
  void call(const onnx::Node &node, const onnx::Function &function, OnnxScope &scope, unsigned depth) {
    OnnxScope inner;
    for (auto [i, name] : llvm::enumerate(function.inputs))
      if (i < node.inputs.size() && !node.inputs[i].empty())
        if (OnnxValue *value = scope.find(node.inputs[i]))
          inner.values[name] = value;
    for (const onnx::Node *original : inOrderOfUse(function.nodes)) {
      expanded.push_back(*original);
      onnx::Node &copy = expanded.back();
      for (std::string &input : copy.inputs) // clear the names of inputs that the call omits
        if (!input.empty() && !inner.find(input) && llvm::is_contained(function.inputs, input))
          input.clear();
      for (auto entry = copy.attributes.begin(); entry != copy.attributes.end();) {
        const std::string reference = entry->second.reference;
        auto given = node.attributes.find(reference);
        auto otherwise = function.defaults.find(reference);
        if (!reference.empty() && given != node.attributes.end())
          entry->second = given->second;
        else if (!reference.empty() && otherwise != function.defaults.end())
          entry->second = otherwise->second;
        else if (!reference.empty()) {
          entry = copy.attributes.erase(entry);
          continue;
        }
        ++entry;
      }
      addNode(copy, inner, function.opsets, depth + 1);
    }
    returnFrom(inner, function.outputs, node, scope);
  }

  void returnFrom(OnnxScope &inner, ArrayRef<std::string> names, const onnx::Node &node, OnnxScope &scope) {
    for (auto [i, output] : llvm::enumerate(node.outputs)) {
      if (output.empty())
        continue;
      OnnxValue *value = i < names.size() ? inner.find(names[i]) : nullptr;
      if (!value) {
        complaints.add(nameOf(node) + ": its body does not compute its result " + std::to_string(i));
        value = graph.make();
        value->refused = true;
      }
      scope.values[output] = value;
    }
  }

  /// Imports the selected branch of an If node whose condition is known at compile time. Returns false if the condition
  /// is not known, or if the node lacks the branch.
  bool branch(const onnx::Node &node, OnnxScope &scope, const onnx::Opsets &opsets, unsigned depth) {
    OnnxValue *condition = node.inputs.empty() ? nullptr : scope.find(node.inputs[0]);
    const KnownElements *known = condition && !condition->refused ? graph.known(*condition) : nullptr;
    auto values = known ? known->constants() : std::nullopt;
    if (!values || values->size() != 1)
      return false;
    auto chosen = node.attributes.find((*values)[0] ? "then_branch" : "else_branch");
    if (chosen == node.attributes.end() || !chosen->second.graph)
      return false;
    const onnx::Graph &body = *chosen->second.graph;
    OnnxScope inner;
    inner.around = &scope;
    addInitializers(body, inner);
    addNodes(body.nodes, inner, opsets, depth + 1);
    SmallVector<std::string> names;
    for (const onnx::ValueInfo &output : body.outputs)
      names.push_back(output.name);
    returnFrom(inner, names, node, scope);
    return true;
  }

  /// Imports one iteration of a loop's body. Returns the values that it computes, or nullopt after a refusal.
  std::optional<SmallVector<OnnxValue *>> step(const onnx::Graph &body, ArrayRef<OnnxValue *> inputs, OnnxScope &scope,
                                               const onnx::Opsets &opsets, unsigned depth) {
    OnnxScope inner;
    inner.around = &scope;
    addInitializers(body, inner);
    for (auto [input, value] : llvm::zip(body.inputs, inputs))
      inner.values[input.name] = value;
    addNodes(body.nodes, inner, opsets, depth + 1);
    SmallVector<OnnxValue *> results;
    for (const onnx::ValueInfo &output : body.outputs) {
      results.push_back(inner.find(output.name));
      if (!results.back() || results.back()->refused)
        return std::nullopt;
    }
    return results;
  }

  /// Unrolls a Scan node, or a Loop node whose trip count and conditions are known at compile time.
  void loop(const onnx::Node &node, OnnxScope &scope, const onnx::Opsets &opsets, int64_t version, unsigned depth) {
    for (const std::string &input : node.inputs)
      if (const OnnxValue *value = input.empty() ? nullptr : scope.find(input); value && value->refused)
        return refuseResults(node, scope);
    OnnxNode n(graph, scope, node, version, NameLoc::get(StringAttr::get(context, node.op + " " + node.name)));
    size_t before = complaints.size();
    SmallVector<Value> results = node.op == "Scan" ? scan(n, scope, opsets, depth) : counted(n, scope, opsets, depth);
    if (!n.failed() && complaints.size() == before && results.size() >= node.outputs.size())
      return setResults(node, n, results, /*folded=*/false, scope);
    if (n.failed())
      complaints.add(describe(node, version, n.reason));
    refuseResults(node, scope);
  }

  /// Returns the body of a loop. Refuses the node unless the body has `inputs` inputs and at least `results` outputs.
  const onnx::Graph *bodyOf(OnnxNode &n, size_t inputs, size_t results) {
    const onnx::Attribute *body = n.attribute("body");
    n.demand(body && body->graph, "it has no body");
    n.demand(body && body->graph && body->graph->inputs.size() == inputs && body->graph->outputs.size() >= results,
             "its body does not fit its inputs");
    return n.failed() ? nullptr : body->graph.get();
  }

  Value written(OnnxNode &n, OnnxValue *value) {
    auto result = graph.materialize(*value, n.node.op);
    if (result && value->narrow == onnx::ElementType::Undefined)
      return *result;
    n.refuse(result ? "values of narrow types in loops are not supported" : llvm::toString(result.takeError()));
    return n.scalar(0, n.f32());
  }

  /// Concatenates the results of all iterations along a new dimension.
  Value stacked(OnnxNode &n, ArrayRef<Value> parts, int64_t axis, bool backwards) {
    SmallVector<Value> rows;
    for (Value part : parts)
      rows.push_back(n.unsqueeze(part, n.axis(axis, n.rankOf(part) + 1)));
    if (backwards)
      std::reverse(rows.begin(), rows.end());
    return n.concat(rows, n.axis(axis, n.rankOf(rows[0])));
  }

  SmallVector<Value> scan(OnnxNode &n, OnnxScope &scope, const onnx::Opsets &opsets, unsigned depth) {
    int64_t scanned = n.integer("num_scan_inputs"), states = int64_t(n.inputCount()) - scanned;
    SmallVector<int64_t> axes = n.integers("scan_input_axes"), directions = n.integers("scan_input_directions"),
                         outAxes = n.integers("scan_output_axes"), outDirections = n.integers("scan_output_directions");
    if (!n.demand(scanned > 0 && states >= 0, "its num_scan_inputs does not fit its inputs"))
      return {};
    const onnx::Graph *body = bodyOf(n, n.inputCount(), states);
    if (!body)
      return {};
    size_t outs = body->outputs.size() - states;
    axes.resize(scanned, 0);
    directions.resize(scanned, 0);
    outAxes.resize(outs, 0);
    outDirections.resize(outs, 0);
    SmallVector<Value> values = n.allIn();
    int64_t steps = 0;
    for (int64_t i = 0; i < scanned; ++i) {
      axes[i] = n.axis(axes[i], n.rankOf(values[states + i]));
      steps = n.staticSize(values[states + i], axes[i]);
    }
    if (n.failed() || !n.demand(steps > 0 && steps <= mostSteps, "loops of 1 to 256 steps are supported"))
      return {};
    SmallVector<OnnxValue *> state;
    for (int64_t i = 0; i < states; ++i)
      state.push_back(scope.find(n.node.inputs[i]));
    SmallVector<SmallVector<Value>> collected(outs);
    for (int64_t at = 0; at < steps; ++at) {
      SmallVector<OnnxValue *> inputs(state);
      for (int64_t i = 0; i < scanned; ++i) {
        Value x = values[states + i];
        SmallVector<AffineExpr> sizes = n.sizesIn(x);
        if (!n.demand(sizes[axes[i]] == n.constantSize(steps), "the lengths of its scan inputs are different"))
          return {};
        sizes.erase(sizes.begin() + axes[i]);
        int64_t entry = directions[i] ? steps - 1 - at : at;
        inputs.push_back(graph.make());
        inputs.back()->value = n.reshape(n.sliceDim(x, axes[i], n.constantSize(entry), n.constantSize(1)), sizes);
      }
      auto results = step(*body, inputs, scope, opsets, depth);
      if (!results)
        return {};
      state.assign(results->begin(), results->begin() + states);
      for (size_t i = 0; i < outs; ++i)
        collected[i].push_back(written(n, (*results)[states + i]));
    }
    SmallVector<Value> all;
    for (OnnxValue *value : state)
      all.push_back(written(n, value));
    for (size_t i = 0; i < outs && !n.failed(); ++i)
      all.push_back(stacked(n, collected[i], outAxes[i], outDirections[i]));
    return all;
  }

  SmallVector<Value> counted(OnnxNode &n, OnnxScope &scope, const onnx::Opsets &opsets, unsigned depth) {
    size_t states = n.inputCount() < 2 ? 0 : n.inputCount() - 2;
    const onnx::Graph *body = bodyOf(n, states + 2, states + 1);
    SmallVector<int64_t> count = n.integersIn(0, "trip count");
    SmallVector<int64_t> go = n.given(1) ? n.integersIn(1, "condition") : SmallVector<int64_t>{1};
    if (!body || n.failed() ||
        !n.demand(count.size() == 1 && go.size() == 1, "its trip count and condition must be single numbers"))
      return {};
    if (!n.demand(count[0] <= mostSteps && (count[0] > 0 || body->outputs.size() == states + 1),
                  "loops of 1 to 256 steps are supported"))
      return {};
    size_t outs = body->outputs.size() - states - 1;
    SmallVector<OnnxValue *> state;
    for (size_t i = 0; i < states; ++i)
      state.push_back(scope.find(n.node.inputs[i + 2]));
    SmallVector<SmallVector<Value>> collected(outs);
    bool running = go[0];
    for (int64_t at = 0; at < count[0] && running; ++at) {
      OnnxValue *iteration = graph.make(), *condition = graph.make();
      iteration->known = KnownElements{n.i64(), {}, {n.constantSize(at)}, {}};
      condition->known = KnownElements{n.i1(), {}, {n.constantSize(1)}, {}};
      SmallVector<OnnxValue *> inputs = {iteration, condition};
      inputs.append(state);
      if (llvm::is_contained(state, nullptr)) {
        n.refuse("one of its values is not the result of an earlier node");
        return {};
      }
      auto results = step(*body, inputs, scope, opsets, depth);
      if (!results)
        return {};
      const KnownElements *next = graph.known(*(*results)[0]);
      auto constant = next ? next->constants() : std::nullopt;
      if (!n.demand(constant && constant->size() == 1, "its condition is not a constant"))
        return {};
      running = (*constant)[0];
      state.assign(results->begin() + 1, results->begin() + 1 + states);
      for (size_t i = 0; i < outs; ++i)
        collected[i].push_back(written(n, (*results)[states + 1 + i]));
    }
    SmallVector<Value> all;
    for (OnnxValue *value : state)
      all.push_back(written(n, value));
    for (size_t i = 0; i < outs && !n.failed(); ++i)
      if (n.demand(!collected[i].empty(), "a loop without iterations has no scan outputs to concatenate"))
        all.push_back(stacked(n, collected[i], 0, false));
    return all;
  }

  void addOutputs(OnnxScope &scope) {
    std::vector<OutputSpec> specs;
    for (const onnx::ValueInfo &output : model.graph.outputs) {
      OnnxValue *found = scope.find(output.name);
      if (!found) {
        complaints.add("no node computes the output '" + output.name + "'");
        continue;
      }
      auto value = graph.materialize(*found, output.name);
      if (!value) {
        complaints.add("the output '" + output.name + "': " + llvm::toString(value.takeError()));
        continue;
      }
      checkOutput(output, Node::typeOf(*value), found->narrow);
      specs.push_back({graph.refOf(*value), {}});
    }
    if (complaints.empty() && specs.empty())
      complaints.add("the model has no outputs");
    if (!complaints.empty())
      return;
    needsSeed = graph.builder.needsSeed();
    auto layouts = graph.builder.setOutputs(specs);
    if (!layouts)
      complaints.add(llvm::toString(layouts.takeError()));
  }

  /// Checks that an output has the type and the sizes that the file declares.
  void checkOutput(const onnx::ValueInfo &output, RankedTensorType type, onnx::ElementType narrow) {
    Type element = isNarrow(output.type) && output.type == narrow ? elementTypeOf(storageOf(narrow), context)
                   : narrow == onnx::ElementType::Undefined       ? elementTypeOf(output.type, context)
                                                                  : Type();
    bool fits =
        output.foreign.empty() && (output.type == onnx::ElementType::Undefined || element == type.getElementType());
    if (fits && output.sizes) {
      fits = int64_t(output.sizes->size()) == type.getRank();
      for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
        if (const auto *size = std::get_if<int64_t>(&(*output.sizes)[dim]))
          fits = type.isDynamicDim(dim) || type.getDimSize(dim) == *size;
    }
    if (fits)
      return;
    std::string said = output.foreign.empty() ? onnx::elementTypeName(output.type) : output.foreign;
    if (output.sizes) {
      said += "[";
      for (auto [dim, size] : llvm::enumerate(*output.sizes))
        said += (dim ? ", " : "") + (std::holds_alternative<int64_t>(size) ? std::to_string(std::get<int64_t>(size))
                                     : std::holds_alternative<std::string>(size) ? std::get<std::string>(size)
                                                                                 : "?");
      said += "]";
    }
    complaints.add("the output '" + output.name + "' is " + tensorName(type) + " according to its nodes, but " + said +
                   " according to the file");
  }

  const onnx::Model &model;
  OnnxInputSizes inputSizes;
  std::list<onnx::Node> &expanded;
  MLIRContext *context;
  OnnxGraph graph;
  std::vector<const void *> &weights;
  Complaints complaints;
  size_t visited = 0;
  bool needsSeed = false;
};

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>> importOnnx(const onnx::Model &model, std::list<onnx::Node> &nodes,
                                                 MLIRContext &context, std::vector<const void *> &weights,
                                                 std::list<std::vector<uint8_t>> &copies,
                                                 llvm::ArrayRef<DynamicSize> dynamic) {
  return OnnxWalker(model, nodes, context, weights, copies).run(dynamic);
}

} // namespace tilewright
