// A kernel that reduces the results of another reduction, with other rows, is split.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: func.func @main
// CHECK: %[[MEANS:.*]] = call @[[FIRST:[a-z_]+_[0-9]+_reduced]](%arg0, %{{.*}} -> tensor<16x256xf32>
// CHECK: call @{{.*}}(%[[MEANS]], %arg1, %{{.*}}tw.ops = "cast+softmax+cast+softmax+softmax+softmax+mul"{{.*}} -> tensor<16x256xbf16>
// CHECK: func.func private @[[FIRST]]({{.*}}kind = {{rows|elements}}
// CHECK: func.func private {{.*}}kind = rows

// RESULT: check: every kernel agrees with the reference
func.func @main(%x: tensor<16x49x256xbf16>, %g: tensor<256xbf16>) -> tensor<16x256xbf16> {
  %0 = tw.cast %x : (tensor<16x49x256xbf16>) -> tensor<16x49x256xf32>
  %1 = tw.reduce sum %0 {dims = array<i64: 1>} : tensor<16x49x256xf32> -> tensor<16x256xf32>
  %2 = tw.cast %1 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
  %3 = tw.softmax %2 {dim = 1 : i64} : tensor<16x256xbf16> -> tensor<16x256xbf16>
  %4 = tw.mul %3, %g : (tensor<16x256xbf16>, tensor<256xbf16>) -> tensor<16x256xbf16>
  return %4 : tensor<16x256xbf16>
}

// With little work, one kernel is faster than two.
// RUN: sed 's/49x256/2x8/g; s/16x256/16x8/g; s/<256x/<8x/g' %s > %t.few.mlir
// RUN: tilewright compile %t.few.mlir --target=cuda --emit=tiled | FileCheck %s --check-prefix=FEW
// FEW-NOT: _reduced
// FEW: kind = elements
