// A product, a shift, a difference, a minimum and a select, on data that overflow.
func.func @main(%x: tensor<8x21xi16> {tw.name = "x"}, %y: tensor<8x21xi16> {tw.name = "y"}) -> (tensor<8x21xi16> {tw.name = "z"}) {
  %three = tw.constant dense<3> : tensor<i16>
  %m = tw.mul %x, %y : (tensor<8x21xi16>, tensor<8x21xi16>) -> tensor<8x21xi16>
  %s = tw.shift_left %m, %three : (tensor<8x21xi16>, tensor<i16>) -> tensor<8x21xi16>
  %d = tw.sub %s, %x : (tensor<8x21xi16>, tensor<8x21xi16>) -> tensor<8x21xi16>
  %n = tw.minimum %d, %y : (tensor<8x21xi16>, tensor<8x21xi16>) -> tensor<8x21xi16>
  %g = tw.gt %x, %y : (tensor<8x21xi16>, tensor<8x21xi16>) -> tensor<8x21xi1>
  %z = tw.where %g, %n, %m : (tensor<8x21xi1>, tensor<8x21xi16>, tensor<8x21xi16>) -> tensor<8x21xi16>
  return %z : tensor<8x21xi16>
}
