// A box filter of 4x4 on an image of bytes. A shift divides the sums to compute the averages.
func.func @main(%x: tensor<1x1x19x19xi8> {tw.name = "x"}) -> (tensor<1x1x16x16xi32> {tw.name = "y"}) {
  %k = tw.constant dense<1> : tensor<1x1x4x4xi8>
  %four = tw.constant dense<4> : tensor<i32>
  %s = tw.convolution %x, %k {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x19x19xi8>, tensor<1x1x4x4xi8>) -> tensor<1x1x16x16xi32>
  %y = tw.shift_right %s, %four : (tensor<1x1x16x16xi32>, tensor<i32>) -> tensor<1x1x16x16xi32>
  return %y : tensor<1x1x16x16xi32>
}
