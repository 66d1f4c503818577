// A matrix product of bytes with 32-bit sums.
func.func @main(%x: tensor<16x16xi8> {tw.name = "x"}, %w: tensor<16x16xi8> {tw.name = "w"}) -> (tensor<16x16xi32> {tw.name = "y"}) {
  %y = tw.matmul %x, %w : (tensor<16x16xi8>, tensor<16x16xi8>) -> tensor<16x16xi32>
  return %y : tensor<16x16xi32>
}
