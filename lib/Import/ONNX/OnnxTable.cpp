//===- OnnxTable.cpp - the table of all operator families ---------------------------===//
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {

const OnnxTable &onnxTable() {
  static const OnnxTable table = [] {
    OnnxTable t;
    registerOnnxElementwise(t);
    registerOnnxActivations(t);
    registerOnnxShapes(t);
    registerOnnxReductions(t);
    registerOnnxContractions(t);
    registerOnnxConvolutions(t);
    registerOnnxPooling(t);
    registerOnnxNorms(t);
    registerOnnxIndexing(t);
    registerOnnxLosses(t);
    registerOnnxQuantization(t);
    registerOnnxResize(t);
    registerOnnxRecurrent(t);
    registerOnnxAttention(t);
    registerOnnxMicrosoft(t);
    return t;
  }();
  return table;
}

} // namespace tilewright
