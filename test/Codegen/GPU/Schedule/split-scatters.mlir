// A scatter that adds many source rows to a small number of rows is divided into parts, which another kernel adds.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s

// The largest number of parts that divides a loop of the source rows is chosen: 256 parts of 32 rows.
// CHECK-DAG: #[[DEST:.*]] = affine_map<(d0, d1, d2)[s0] -> (d0, s0, d2)>
// CHECK-DAG: #[[INDEX:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @main
// CHECK: %[[SOURCE:.*]] = tensor.expand_shape %{{.*}} {{\[\[0, 1\], \[2\]\]}} {{.*}} into tensor<256x32x768xf32>
// CHECK: %[[OF:.*]] = tensor.expand_shape %{{.*}} {{\[\[0, 1\]\]}} {{.*}} into tensor<256x32xi64>
// CHECK: %[[PARTS:.*]] = call @{{.*}}_parts(%[[SOURCE]], %[[OF]], {{.*}} -> tensor<256x2x768xf32>
// CHECK: call @{{scatter_[0-9]+}}(%[[PARTS]],
// The parts of a scatter of bf16 rows contain the cast of the rows to f32.
// CHECK: call @put_scatter_{{[0-9]+}}_parts({{.*}} -> tensor<256x2x768xf32>

// CHECK: func.func private @scatter_{{[0-9]+}}_parts(
// CHECK: tw_tile.scatter add {dest_map = #[[DEST]], index_maps = [#[[INDEX]]]
// CHECK: func.func private @put_scatter_{{[0-9]+}}_parts(%{{.*}}: tensor<256x32x768xbf16>
// CHECK: linalg.generic
// CHECK: arith.extf
// CHECK: tw_tile.scatter add {dest_map = #[[DEST]], index_maps = [#[[INDEX]]]
func.func @main(%x: tensor<2x768xf32>, %i: tensor<8192xi64>, %s: tensor<8192x768xf32>, %y: tensor<2x768xbf16>,
                %t: tensor<8192x768xbf16>) -> (tensor<2x768xf32>, tensor<2x768xbf16>) {
  %0 = tw.put add %x[%i], %s {dim = 0 : i64} : (tensor<2x768xf32>, tensor<8192x768xf32>, tensor<8192xi64>) -> tensor<2x768xf32>
  %1 = tw.put add %y[%i], %t {dim = 0 : i64} : (tensor<2x768xbf16>, tensor<8192x768xbf16>, tensor<8192xi64>) -> tensor<2x768xbf16>
  return %0, %1 : tensor<2x768xf32>, tensor<2x768xbf16>
}
