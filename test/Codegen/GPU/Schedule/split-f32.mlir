// On sm_90a, each operand of a large f32 product is split into three bf16 parts, and wgmma computes six products of
// parts.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --f32-fma --emit=tiled | FileCheck %s --check-prefix=FMA
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=FMA
// RUN: tilewright compile %s --target=cuda --arch=sm_90a+tf32 --emit=tiled | FileCheck %s --check-prefix=TF32

// The smaller operand stores one part for each of the six pairs of parts, so that the loop over the pairs indexes it
// directly. Both products read the same parts of %x.
// CHECK: affine_map<(d0, d1, d2, d3) -> (d1, ((d0 * -6) floordiv 5) mod 3, d3)>
// CHECK: func.func @main
// CHECK-DAG: %[[X:.*]] = call @{{[a-z0-9_]*}}_bf16_parts{{[_0-9]*}}(%arg0, %{{.*}}) {{.*}}-> tensor<320x3x512xbf16>
// CHECK-DAG: %[[W:.*]] = call @{{[a-z0-9_]*}}_bf16_parts{{[_0-9]*}}(%arg1, %{{.*}}) {{.*}}-> tensor<72x6x512xbf16>
// CHECK-DAG: %[[V:.*]] = call @{{[a-z0-9_]*}}_bf16_parts{{[_0-9]*}}(%arg3, %{{.*}}) {{.*}}-> tensor<512x6x64xbf16>
// Both products are computed by one kernel (join-products.mlir).
// CHECK: call @[[JOINED:[a-z0-9_]*_bf16_joined]](%[[X]], %[[W]], %arg2, %[[V]],
// CHECK-NOT: call
// CHECK: @[[JOINED]]({{.*}}kind = wgmma
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "parallel", "reduction"]{{.*}} ins(%{{.*}} : tensor<320x3x512xbf16>, tensor<72x6x512xbf16>) outs(%{{.*}} : tensor<320x72xf32>)
// FMA-NOT: bf16
// TF32-NOT: bf16

// The tensor map of %x has the dimensions columns, parts and rows. The weight of the second product is contiguous along
// its columns.
// TARGET: tw_cuda.maps = ["0:bf16:128:64*512,1*3,64*320", "1:bf16:128:64*512,1*6,64*72", "0:bf16:128:64*512,1*3,64*320", "3:bf16:128:64*64,1*6,64*512"]

// In each step along k, wgmma starts its sums at zero. Afterwards, these sums are added to the accumulators in f32.
// PTX: .entry matmul_add_gelu_bf16_joined_320x136x3072(
// PTX: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.bf16.bf16 {{.*}}, begins, 1, 1, 0, 0;
// PTX: wgmma.wait_group.sync.aligned 0;
// PTX: add.rn.f32

// RESULT: check: every kernel agrees with the reference
func.func @main(%x: tensor<320x512xf32>, %w: tensor<72x512xf32>, %b: tensor<72xf32>, %v: tensor<512x64xf32>) -> (tensor<320x72xf32>, tensor<320x64xf32>) {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<72x512xf32> -> tensor<512x72xf32>
  %h = tw.matmul %x, %t : (tensor<320x512xf32>, tensor<512x72xf32>) -> tensor<320x72xf32>
  %a = tw.add %h, %b : (tensor<320x72xf32>, tensor<72xf32>) -> tensor<320x72xf32>
  %g = tw.gelu %a : (tensor<320x72xf32>) -> tensor<320x72xf32>
  %m = tw.matmul %x, %v : (tensor<320x512xf32>, tensor<512x64xf32>) -> tensor<320x64xf32>
  return %g, %m : tensor<320x72xf32>, tensor<320x64xf32>
}
