//===- TileVerify.cpp - constraints of the tw_tile ops -----------------------===//
#include "dialects/Tile/Tile.h"

using namespace mlir;

namespace tilewright::tile {
LogicalResult MatmulOp::verify() { return success(); }
LogicalResult ConvolutionOp::verify() { return success(); }
LogicalResult PackOp::verify() { return success(); }
LogicalResult AttentionOp::verify() { return success(); }
LogicalResult ScanOp::verify() { return success(); }
LogicalResult SortOp::verify() { return success(); }
LogicalResult ScatterOp::verify() { return success(); }
} // namespace tilewright::tile
