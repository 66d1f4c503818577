// RUN: tilewright compile %s --emit=tiled --target=reference | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --emit=vector --target=reference | FileCheck %s --check-prefix=VECTOR
// RUN: tilewright compile %s --emit=target --target=reference | FileCheck %s --check-prefix=TARGET

// The target reference uses no schedules and no packing. Operands are widened to f64, and results are rounded to their
// dtype.
// TILED-NOT: scf.forall
// TILED-NOT: tw_tile
// TILED: func.func private @matmul_gelu_0
// TILED: linalg.contract{{.*}} -> tensor<8x6xf64>
// TILED: math.erf {{.*}} : f64
// TILED: arith.truncf {{.*}} : f64 to f32

// The kernel consists of loops without vectors. As for the target cpu, a plan launches the kernel.
// VECTOR-NOT: vector<
// VECTOR: scf.for
// VECTOR: arith.addf {{.*}} : f64
// VECTOR: tw_plan.program
// VECTOR: tw_plan.launch @matmul_gelu_0 [0, 1, 2]

// TARGET: llvm.func @erf(f64) -> f64
// TARGET: llvm.func @matmul_gelu_0(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64, %arg4: !llvm.ptr)
// TARGET: llvm.call @erf
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x6xf32> {tw.static}) -> tensor<8x6xf32> {
  %m = tw.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %g = tw.gelu %m : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %g : tensor<8x6xf32>
}
