// Two padded convolutions: a depthwise one with stride 2, then one with two groups of four channels and three filters.
func.func @main(%x: tensor<1x8x9x9xf32> {tw.name = "x"}, %k: tensor<8x1x3x3xf32> {tw.name = "k"},
                %g: tensor<6x4x3x3xf32> {tw.name = "g"}) -> (tensor<1x6x5x5xf32> {tw.name = "y"}) {
  %d = tw.convolution %x, %k {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 8 : i64} : (tensor<1x8x9x9xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x5x5xf32>
  %y = tw.convolution %d, %g {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x8x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x5x5xf32>
  return %y : tensor<1x6x5x5xf32>
}
