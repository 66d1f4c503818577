// A 3x3 convolution of an int8 image with four channels.
func.func @main(%x: tensor<1x4x10x10xi8> {tw.name = "x"}, %k: tensor<4x4x3x3xi8> {tw.name = "k"}) -> (tensor<1x4x8x8xi32> {tw.name = "y"}) {
  %y = tw.convolution %x, %k {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x10x10xi8>, tensor<4x4x3x3xi8>) -> tensor<1x4x8x8xi32>
  return %y : tensor<1x4x8x8xi32>
}
