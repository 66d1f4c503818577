// Products of bytes with 32-bit results, as in the middle of a quantized MLP.
func.func @main(%x: tensor<8x64xi8> {tw.name = "x"}, %w: tensor<64x64xi8> {tw.name = "w"}, %b: tensor<64xi32> {tw.name = "b"}) -> (tensor<8x64xi32> {tw.name = "y"}) {
  %m = tw.matmul %x, %w : (tensor<8x64xi8>, tensor<64x64xi8>) -> tensor<8x64xi32>
  %y = tw.add %m, %b : (tensor<8x64xi32>, tensor<64xi32>) -> tensor<8x64xi32>
  return %y : tensor<8x64xi32>
}
