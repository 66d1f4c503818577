// RUN: split-file %s %t
// RUN: not tilewright-opt %t/none.mlir --tw-verify-stage=stage=vector 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tilewright-opt %t/kernel.mlir --tw-verify-stage=stage=vector 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not tilewright-opt %t/tensor.mlir "--tw-verify-stage=stage=vector dialects=func,tw_plan" 2>&1 | FileCheck %s --check-prefix=TENSOR

//--- none.mlir
// NONE: error: 'builtin.module' op has 0 plans after stage 'vector'; expected one
func.func private @kernel() attributes {tw.kernel} {
  return
}

//--- kernel.mlir
// KERNEL: error: 'tw_plan.launch' op launches @missing, which the module does not contain
tw_plan.program @main ["s0"] in [2] to [512] {
  tw_plan.buffer 0 input 0 bytes affine_map<()[s0] -> (s0 * 4)>
  tw_plan.buffer 1 output 0 bytes affine_map<()[s0] -> (s0 * 4)>
  tw_plan.launch @missing [0, 1] writes 2 sizes affine_map<()[s0] -> (s0)>
}

//--- tensor.mlir
// TENSOR: error: 'func.func' op has an argument of tensor type after stage 'vector', from which on kernels use memrefs
func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel} {
  return %x : tensor<4xf32>
}
tw_plan.program @main ["s0"] in [2] to [512] {
}
