// Kernels that are split more than once, because one split leaves reductions with different rows.
// RUN: split-file %s %t
// RUN: tilewright compile %t/two.mlir --target=cuda --emit=tiled | FileCheck %s --check-prefix=TWO
// RUN: tilewright run %t/two.mlir --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %t/chain.mlir --target=cuda --emit=tiled | FileCheck %s --check-prefix=CHAIN
// RUN: tilewright run %t/chain.mlir --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// RESULT: check: every kernel agrees with the reference

// The product of two reductions is reduced again. The last kernel still writes its result over an operand.
// TWO: call @{{[a-z_]+_[0-9]+}}_reduced
// TWO: call @{{[a-z_]+_[0-9]+}}_reduced
// TWO-NOT: kind = elements
// TWO: func.func private @{{[a-z_]+_[0-9]+}}({{.*}}tw.over = array<i64: 1>
// TWO-NOT: kind = elements
//--- two.mlir
func.func @main(%x: tensor<64x48x40xf32>, %y: tensor<64x48x40xf32>, %r: tensor<64x48xf32>) -> (tensor<64x48xf32> {tw.into = 2 : i64}) {
  %s = tw.reduce sum %x {dims = array<i64: 2>} : tensor<64x48x40xf32> -> tensor<64x48xf32>
  %m = tw.reduce max %y {dims = array<i64: 2>} : tensor<64x48x40xf32> -> tensor<64x48xf32>
  %a = tw.mul %s, %m : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
  %p = tw.softmax %a {dim = 1 : i64} : tensor<64x48xf32> -> tensor<64x48xf32>
  %z = tw.add %p, %r : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
  return %z : tensor<64x48xf32>
}

// Three reductions of different dimensions, and a softmax between them: no kernel reduces the result of another
// reduction with other rows.
// CHAIN: call @{{[a-z_]+_[0-9]+}}_reduced
// CHAIN: call @{{[a-z_]+_[0-9]+}}_reduced
// CHAIN: call @{{[a-z_]+_[0-9]+}}_reduced
// CHAIN: call @{{[a-z_]+_[0-9]+}}_reduced
//--- chain.mlir
func.func @main(%x: tensor<24x20x30x40xbf16>) -> tensor<24xbf16> {
  %s = tw.reduce sum %x {dims = array<i64: 1>} : tensor<24x20x30x40xbf16> -> tensor<24x30x40xbf16>
  %t = tw.softmax %s {dim = 2 : i64} : tensor<24x30x40xbf16> -> tensor<24x30x40xbf16>
  %u = tw.reduce max %t {dims = array<i64: 1>} : tensor<24x30x40xbf16> -> tensor<24x40xbf16>
  %v = tw.reduce sum %u {dims = array<i64: 1>} : tensor<24x40xbf16> -> tensor<24xbf16>
  return %v : tensor<24xbf16>
}
