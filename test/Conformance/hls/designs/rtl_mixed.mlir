// The inputs are two signals of 16-bit integers. If the element of the first signal is less than that of the second
// signal, the result is the maximum of both elements, and otherwise the sum of their halves.
func.func @main(%x: tensor<80xi16> {tw.name = "x"}, %y: tensor<80xi16> {tw.name = "y"}) -> (tensor<80xi16> {tw.name = "z"}) {
  %one = tw.constant dense<1> : tensor<i16>
  %a = tw.shift_right %x, %one : (tensor<80xi16>, tensor<i16>) -> tensor<80xi16>
  %b = tw.shift_right %y, %one : (tensor<80xi16>, tensor<i16>) -> tensor<80xi16>
  %s = tw.add %a, %b : (tensor<80xi16>, tensor<80xi16>) -> tensor<80xi16>
  %m = tw.lt %x, %y : (tensor<80xi16>, tensor<80xi16>) -> tensor<80xi1>
  %l = tw.maximum %x, %y : (tensor<80xi16>, tensor<80xi16>) -> tensor<80xi16>
  %z = tw.where %m, %l, %s : (tensor<80xi1>, tensor<80xi16>, tensor<80xi16>) -> tensor<80xi16>
  return %z : tensor<80xi16>
}
