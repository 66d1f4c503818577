// Two filters of six taps with a stride of two, over three channels of bytes.
func.func @main(%x: tensor<1x3x1x50xi8> {tw.name = "x"}, %k: tensor<2x3x1x6xi8> {tw.name = "k"}) -> (tensor<1x2x1x23xi32> {tw.name = "y"}) {
  %y = tw.convolution %x, %k {stride = array<i64: 1, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x3x1x50xi8>, tensor<2x3x1x6xi8>) -> tensor<1x2x1x23xi32>
  return %y : tensor<1x2x1x23xi32>
}
