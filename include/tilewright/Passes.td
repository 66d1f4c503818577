//===- Passes.td - every pass of the compiler --------------------------------===//
//
// One entry per pass, in the order the data flows. The files that implement them open with the IR before and after.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PASSES
#define TILEWRIGHT_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Graph: tw -> tw
//===----------------------------------------------------------------------===//

def CollapseViews : Pass<"tw-collapse-views", "::mlir::func::FuncOp"> {
  let summary = "Push reshapes down through elementwise ops, norms and reductions until they meet and cancel";
}

def PropagateLayout : Pass<"tw-propagate-layout", "::mlir::func::FuncOp"> {
  let summary = "Make 2-d convolutions channels-last and sink the permutes until they meet and cancel";
}

//===----------------------------------------------------------------------===//
// Structured: tw -> linalg, tw_tile
//===----------------------------------------------------------------------===//

def LowerGraph : Pass<"tw-lower-graph", "::mlir::func::FuncOp"> {
  let summary = "Lower the graph to linalg, tensor and tw_tile ops on tensors";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::tilewright::tile::TileDialect"];
}

def VerifyStructured : Pass<"tw-verify-structured"> {
  let summary = "Contract of the structured stage: only linalg, tw_tile, tensor, arith, math, affine and func remain";
}

//===----------------------------------------------------------------------===//
// Vector
//===----------------------------------------------------------------------===//

def KeepRoundings : Pass<"tw-keep-roundings"> {
  let summary = "Take the flag that allows dropping a rounding off arith.extf and arith.truncf";
}

def SplitReshapes : Pass<"tw-split-reshapes"> {
  let summary = "Lower memref.expand_shape with several symbolic sizes in one group to memref.reinterpret_cast";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// Target: reference
//===----------------------------------------------------------------------===//

def WidenFloats : Pass<"tw-widen-floats", "::mlir::func::FuncOp"> {
  let summary = "Compute every intermediate float in f64; arguments and results keep their types";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::tilewright::tile::TileDialect"];
}

def DecomposeTile : Pass<"tw-decompose-tile", "::mlir::func::FuncOp"> {
  let summary = "Expand tw_tile ops into linalg and plain loops over tensors";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::affine::AffineDialect"];
}

#endif
