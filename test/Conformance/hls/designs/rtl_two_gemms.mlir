// The second product waits for the whole result of the first product.
func.func @main(%x: tensor<8x12xi16> {tw.name = "x"}, %v: tensor<12x16xi16> {tw.name = "v"}, %w: tensor<16x8xi32> {tw.name = "w"}) -> (tensor<8x8xi32> {tw.name = "y"}) {
  %m = tw.matmul %x, %v : (tensor<8x12xi16>, tensor<12x16xi16>) -> tensor<8x16xi32>
  %y = tw.matmul %m, %w : (tensor<8x16xi32>, tensor<16x8xi32>) -> tensor<8x8xi32>
  return %y : tensor<8x8xi32>
}
