// A filter of nine taps along a row of 16-bit integers.
func.func @main(%x: tensor<1x1x1x72xi16> {tw.name = "x"}, %k: tensor<1x1x1x9xi16> {tw.name = "k"}) -> (tensor<1x1x1x64xi32> {tw.name = "y"}) {
  %y = tw.convolution %x, %k {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x1x72xi16>, tensor<1x1x1x9xi16>) -> tensor<1x1x1x64xi32>
  return %y : tensor<1x1x1x64xi32>
}
