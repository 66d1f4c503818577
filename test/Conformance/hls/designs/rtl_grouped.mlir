// A convolution with two groups of two channels.
func.func @main(%x: tensor<1x4x9x9xi8> {tw.name = "x"}, %k: tensor<4x2x3x3xi8> {tw.name = "k"}) -> (tensor<1x4x7x7xi32> {tw.name = "y"}) {
  %y = tw.convolution %x, %k {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x4x9x9xi8>, tensor<4x2x3x3xi8>) -> tensor<1x4x7x7xi32>
  return %y : tensor<1x4x7x7xi32>
}
