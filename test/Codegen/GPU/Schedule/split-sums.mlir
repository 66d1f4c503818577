// A product with long sums and few results is split into a batch of products, and a kernel that adds their results in
// order and computes the epilogue. A product is not split if it has enough tiles for all SMs of the GPU, or if the
// number of terms has no suitable divisor.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=HOPPER
// RUN: tilewright run %s --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: func.func @main
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{\[\[}}0], [1, 2]] output_shape [3, 16, 256]
// CHECK: %[[W:.*]] = tensor.expand_shape %arg1 {{\[\[}}0], [1, 2]] output_shape [256, 16, 256]
// CHECK: %[[P:.*]] = call @[[PARTS:[a-z_]+_[0-9]+_parts]](%[[X]], %[[W]], {{.*}} -> tensor<16x3x256xf32>
// CHECK: call @{{[a-z_]+_[0-9]+}}(%[[P]], %arg2, {{.*}} {tw.ops = "sum of parts+
// CHECK-NOT: _parts
// CHECK: func.func private @[[PARTS]]({{.*}}kind = mma
// CHECK: func.func private @{{[a-z_]+_[0-9]+.*}}kind = elements
// CHECK: tw.op = "sum of parts"
// CHECK-NOT: sum of parts

// On sm_90a, the blocks of a cluster compute the parts of the sum in one kernel instead
// (test/Codegen/NVPTX/split-k.mlir).
// HOPPER-NOT: _parts
// HOPPER: kind = wgmma, {{.*}}split_k = 8
// HOPPER-NOT: _parts

// RESULT: check: every kernel agrees with the reference
func.func @main(%x: tensor<3x4096xbf16>, %w: tensor<256x4096xbf16> {tw.static}, %b: tensor<256xbf16> {tw.static}, %y: tensor<512x96xbf16>, %u: tensor<96x512xbf16>, %z: tensor<3x4104xbf16>, %v: tensor<4104x256xbf16>)
    -> (tensor<3x256xbf16>, tensor<512x512xbf16>, tensor<3x256xbf16>) {
  %wt = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<256x4096xbf16> -> tensor<4096x256xbf16>
  %m = tw.matmul %x, %wt : (tensor<3x4096xbf16>, tensor<4096x256xbf16>) -> tensor<3x256xbf16>
  %a = tw.add %m, %b : (tensor<3x256xbf16>, tensor<256xbf16>) -> tensor<3x256xbf16>
  %e = tw.relu %a : (tensor<3x256xbf16>) -> tensor<3x256xbf16>
  %many = tw.matmul %y, %u : (tensor<512x96xbf16>, tensor<96x512xbf16>) -> tensor<512x512xbf16>
  %odd = tw.matmul %z, %v : (tensor<3x4104xbf16>, tensor<4104x256xbf16>) -> tensor<3x256xbf16>
  return %e, %many, %odd : tensor<3x256xbf16>, tensor<512x512xbf16>, tensor<3x256xbf16>
}
