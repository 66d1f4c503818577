// A product of one row. Two weights per cycle are written to each bank of the weights.
func.func @main(%x: tensor<1x64xi8> {tw.name = "x"}, %w: tensor<64x48xi8> {tw.name = "w"}) -> (tensor<1x48xi32> {tw.name = "y"}) {
  %y = tw.matmul %x, %w : (tensor<1x64xi8>, tensor<64x48xi8>) -> tensor<1x48xi32>
  return %y : tensor<1x48xi32>
}
