// All ops without an implementation are reported together, each with its type, reason and line. An unknown arch is also
// an error.
// RUN: not tilewright compile %s --target=cuda 2>&1 | FileCheck %s
// RUN: not tilewright compile %s --target=cuda --arch=sm_75 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not tilewright compile %s --target=cpu --arch=sm_80 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not tilewright compile %s --target=cpu --emit=ptx 2>&1 | FileCheck %s --check-prefix=PTX
// RUN: not tilewright run %s --target=cuda 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK-DAG: refusals.mlir:[[@LINE+11]]: target cuda: exp of tensor<4x8xf64>: exp of float64 has no implementation; target cpu computes it
// CHECK-DAG: refusals.mlir:[[@LINE+11]]: target cuda: log of tensor<4x8xf64>: log of float64 has no implementation; target cpu computes it
// CHECK-DAG: refusals.mlir:[[@LINE+11]]: target cuda: fmod of tensor<4x8xf32>: the remainder of floats has no exact implementation; target cpu computes it

// ARCH: target cuda has no arch 'sm_75'; there are sm_80, sm_86, sm_89, sm_90a
// CPU: --arch requires --target=cuda; target 'cpu' does not have this option
// PTX: --emit=ptx requires --target=cuda
// REFUSED: target cuda: exp of tensor<4x8xf64>

func.func @main(%x: tensor<4x8xf32>, %d: tensor<4x8xf64>) -> (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf32>) {
  // The messages name these lines.
  %0 = tw.exp %d : (tensor<4x8xf64>) -> tensor<4x8xf64>
  %1 = tw.log %d : (tensor<4x8xf64>) -> tensor<4x8xf64>
  %2 = tw.fmod %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf32>
}
