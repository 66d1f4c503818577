// Kernels of the structured stage, and one function with an op that may not remain after this stage.
func.func @first(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.tanh %x : tensor<4x8xf32>
  %1 = arith.addf %0, %x : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
func.func @second(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = arith.mulf %x, %y : tensor<4x8xf32>
  %1 = tw.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = arith.subf %1, %y : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
func.func @third(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = arith.negf %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
