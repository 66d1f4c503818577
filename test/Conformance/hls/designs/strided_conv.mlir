// Convolution 3x3 with padding and stride 2, then ReLU.
func.func @main(%x: tensor<1x4x12x12xf32> {tw.name = "x"},
                %k: tensor<8x4x3x3xf32> {tw.name = "k"})
    -> (tensor<1x8x6x6xf32> {tw.name = "y"}) {
  %c = tw.convolution %x, %k {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x12x12xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  %y = tw.relu %c : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  return %y : tensor<1x8x6x6xf32>
}
