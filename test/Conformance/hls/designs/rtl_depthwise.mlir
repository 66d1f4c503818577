// A depthwise convolution with stride 2.
func.func @main(%x: tensor<1x4x13x13xi8> {tw.name = "x"}, %k: tensor<4x1x3x3xi8> {tw.name = "k"}) -> (tensor<1x4x6x6xi32> {tw.name = "y"}) {
  %y = tw.convolution %x, %k {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x4x13x13xi8>, tensor<4x1x3x3xi8>) -> tensor<1x4x6x6xi32>
  return %y : tensor<1x4x6x6xi32>
}
