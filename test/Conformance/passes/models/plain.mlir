// An elementwise op and a reduction.
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %e = tw.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = tw.reduce sum %e {dims = array<i64: 1>} : tensor<4x8xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}
