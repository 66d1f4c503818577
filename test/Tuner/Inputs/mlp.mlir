func.func @main(%x: tensor<64x256xf32> {tw.name = "x"}, %w: tensor<256x192xf32> {tw.name = "w", tw.static},
                %b: tensor<192xf32> {tw.name = "b", tw.static}) -> (tensor<64x192xf32> {tw.name = "y"}) {
  %h = tw.matmul %x, %w : (tensor<64x256xf32>, tensor<256x192xf32>) -> tensor<64x192xf32>
  %s = tw.add %h, %b : (tensor<64x192xf32>, tensor<192xf32>) -> tensor<64x192xf32>
  return %s : tensor<64x192xf32>
}
