//===- OnnxOrder.h - topological order of nodes --------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXORDER_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXORDER_H

#include "lib/Import/ONNX/Reader/Model.h"

namespace tilewright {

/// Returns the nodes in an order in which each node comes after the producers of all values that the node or a graph
/// in it reads. Files should be ordered in this way, but some tools append casts at the end. Nodes in order stay so.
/// A cycle is not resolved: its first node reads a value that no node before it produces.
std::vector<const onnx::Node *> inOrderOfUse(const std::vector<onnx::Node> &nodes);

} // namespace tilewright

#endif
