//===- OnnxOrder.h - topological order of nodes --------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXORDER_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXORDER_H

#include "lib/Import/ONNX/Reader/Model.h"

namespace tilewright {

/// Returns the nodes in topological order: each node comes after the producers of all values that the node or a graph
/// in its attributes reads. ONNX requires this order in files, but some tools append casts at the end. Nodes that are
/// already in this order are not moved. If there is a cycle, its first node reads a value that a later node produces.
std::vector<const onnx::Node *> inOrderOfUse(const std::vector<onnx::Node> &nodes);

} // namespace tilewright

#endif
