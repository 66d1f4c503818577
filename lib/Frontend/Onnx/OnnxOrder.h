//===- OnnxOrder.h - nodes in the order of what they read ----------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXORDER_H
#define TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXORDER_H

#include "lib/Frontend/OnnxModel/Model.h"

namespace tilewright {

/// The nodes with each behind those whose results it reads, itself or a graph in it. Files should have them so; some
/// tools write casts at the end. What is in order stays as it is, and so does a cycle: its first node reads what is
/// given by none before it.
std::vector<const onnx::Node *> inOrderOfUse(const std::vector<onnx::Node> &nodes);

} // namespace tilewright

#endif
