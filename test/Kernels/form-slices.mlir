// RUN: tilewright-opt %s --tw-form-kernels="read-slices" | FileCheck %s
// RUN: tilewright-opt %s --tw-form-kernels | FileCheck %s --check-prefix=REPEATED
// RUN: tilewright-opt %s --tw-form-kernels="read-slices" --tw-build-plan | FileCheck %s --check-prefix=PLAN

// Kernels that differ only in the row that they read become one function. Each launch specifies the offset of its row.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROW:.*]] = tensor.extract_slice %{{.*}}[3, 0] [1, 16]
// CHECK: call @[[KERNEL:.*]](%[[ROW]],
// CHECK-COUNT-1: func.func private @[[KERNEL]](%{{.*}}: tensor<1x16xf32>
// CHECK-NOT: func.func private

// REPEATED-COUNT-8: func.func private

// PLAN: tw_plan.launch @[[KERNEL:.*]] [0, 1] writes
// PLAN: tw_plan.launch @[[KERNEL]] [0, 2] at [64, 0] writes
// PLAN: tw_plan.launch @[[KERNEL]] [0, 8] at [448, 0] writes
func.func @main(%x: tensor<8x16xf32>) -> (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>) {
  %e = tensor.empty() : tensor<1x16xf32>
  %s0 = tensor.extract_slice %x[0, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %r0 = linalg.exp ins(%s0 : tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %s1 = tensor.extract_slice %x[1, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %r1 = linalg.exp ins(%s1 : tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %s2 = tensor.extract_slice %x[2, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %r2 = linalg.exp ins(%s2 : tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %s3 = tensor.extract_slice %x[3, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %r3 = linalg.exp ins(%s3 : tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %s4 = tensor.extract_slice %x[4, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %r4 = linalg.exp ins(%s4 : tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %s5 = tensor.extract_slice %x[5, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %r5 = linalg.exp ins(%s5 : tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %s6 = tensor.extract_slice %x[6, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %r6 = linalg.exp ins(%s6 : tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %s7 = tensor.extract_slice %x[7, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %r7 = linalg.exp ins(%s7 : tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>
}
