func.func @main(%x: tensor<64x64xf32> {tw.name = "x"}, %w: tensor<64x64xf32> {tw.name = "w"}) -> (tensor<64x64xf32> {tw.name = "y"}) {
  %h = tw.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}
