// Depthwise convolution 3x3 with stride 2.
func.func @main(%x: tensor<1x8x13x13xf32> {tw.name = "x"},
                %k: tensor<8x1x3x3xf32> {tw.name = "k"})
    -> (tensor<1x8x6x6xf32> {tw.name = "y"}) {
  %y = tw.convolution %x, %k {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 8 : i64} : (tensor<1x8x13x13xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %y : tensor<1x8x6x6xf32>
}
