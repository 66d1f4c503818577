// RUN: split-file %s %t
// RUN: not tilewright-opt %t/dialect.mlir --tw-verify-stage=stage=structured 2>&1 | FileCheck %s --check-prefix=DIALECT
// RUN: not tilewright-opt %t/dialect.mlir --tw-verify-stage=stage=structure 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not tilewright-opt %t/dialect.mlir "--tw-verify-stage=stage=graph dialects=func,arith" 2>&1 | FileCheck %s --check-prefix=GIVEN
// RUN: tilewright-opt %t/dialect.mlir --tw-verify-stage=stage=graph
// RUN: not tilewright-opt %t/call.mlir --tw-verify-stage=stage=tiled 2>&1 | FileCheck %s --check-prefix=CALL
// RUN: not tilewright-opt %t/nested.mlir --tw-verify-stage=stage=tiled 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: tilewright-opt %t/good.mlir --tw-verify-stage=stage=structured

//--- dialect.mlir
// DIALECT: error: 'tw.exp' op may not remain after stage 'structured': only ops of linalg, tw_tile, tensor, arith, math, affine, func may
// STAGE: error: 'builtin.module' op cannot be verified: there is no stage 'structure'
// GIVEN: error: 'tw.exp' op may not remain after stage 'graph': only ops of func, arith may
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- call.mlir
// CALL: error: 'func.call' op calls @helper, which is not a kernel
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- nested.mlir
// NESTED: error: 'func.call' op is in a kernel, but kernels must not contain calls
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel} {
  return %x : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel} {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- good.mlir
func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel} {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @kernel(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
