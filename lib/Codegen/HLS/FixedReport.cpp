//===- FixedReport.cpp - results of range analysis for a fixed-point design ----------------===//
//
// The report is printed from the module's attribute tw.fixed, which --tw-fixed-point sets. For each op that rounds its
// result, the attribute contains the width of the exact value in bits, the required and the available number of bits
// before the binary point, and the largest error.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/DesignFiles.h"
#include "lib/Interfaces/NumberText.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/FixedPoint.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

struct Layer {
  std::string name, where, format, verdict;
  int64_t bits = 0, needs = 0, has = 0;
  double error = 0;
};

std::vector<Layer> layersOf(DictionaryAttr fixed) {
  std::vector<Layer> layers;
  for (Attribute attribute : fixed.getAs<ArrayAttr>("layers")) {
    auto entry = cast<DictionaryAttr>(attribute);
    auto text = [&](StringRef key) { return entry.getAs<StringAttr>(key).str(); };
    auto number = [&](StringRef key) {
      auto value = entry.getAs<IntegerAttr>(key);
      return value ? value.getInt() : 0;
    };
    Layer layer{text("layer"),  text("where"),   text("format"), text("verdict"),
                number("bits"), number("needs"), number("has")};
    if (auto error = entry.getAs<FloatAttr>("error"))
      layer.error = error.getValueAsDouble();
    layers.push_back(std::move(layer));
  }
  return layers;
}

} // namespace

std::string printFixed(ModuleOp module) {
  auto fixed = module->getAttrOfType<DictionaryAttr>(fixedAttrName);
  if (!fixed)
    return "";
  std::string text = "\n# Fixed point\n\nThis table states what follows from the inputs' formats and the weights. A "
                     "layer's value is exact until it is rounded to the format in the table. \"off\" is its largest "
                     "difference from the float model's value if no value saturates or wraps around.\n\n"
                     "| layer | exact bits | format | verdict | off |\n|---|---|---|---|---|\n";
  llvm::raw_string_ostream out(text);
  for (const Layer &layer : layersOf(fixed)) {
    out << "| " << layer.name << (layer.where.empty() ? "" : " (" + layer.where + ")") << " | " << layer.bits << " | "
        << layer.format << " | " << layer.verdict << " | " << numberText("%.2e", layer.error) << " |\n";
  }
  return text;
}

llvm::json::Value fixedJson(ModuleOp module) {
  auto fixed = module->getAttrOfType<DictionaryAttr>(fixedAttrName);
  if (!fixed)
    return nullptr;
  llvm::json::Array layers, proved;
  for (const Layer &layer : layersOf(fixed))
    layers.push_back(llvm::json::Object{{"layer", layer.name},
                                        {"where", layer.where},
                                        {"format", layer.format},
                                        {"bits", layer.bits},
                                        {"needs", layer.needs},
                                        {"has", layer.has},
                                        {"verdict", layer.verdict},
                                        {"off", layer.error}});
  for (Attribute error : fixed.getAs<ArrayAttr>("errors"))
    proved.push_back(cast<FloatAttr>(error).getValueAsDouble());
  return llvm::json::Object{{"layers", std::move(layers)}, {"proved", std::move(proved)}};
}

} // namespace tilewright::hls
