// Integer ops that wrap around, constants, unsigned bytes, and helper functions for integers of 8 and 64 bits. Results must be
// exact on inputs that overflow.
func.func @main(%x: tensor<64xi32> {tw.name = "x"}, %s: tensor<64xi32> {tw.name = "s"}, %b: tensor<64xi8> {tw.name = "b"}, %w: tensor<64xi64> {tw.name = "w"}, %u: tensor<64xui8> {tw.name = "u"})
    -> (tensor<64xi1> {tw.name = "more"}, tensor<64xi32> {tw.name = "quotient"}, tensor<64xi32> {tw.name = "shifted"}, tensor<64xi8> {tw.name = "bytes"}, tensor<64xi8> {tw.name = "clamped"}, tensor<64xi64> {tw.name = "long"}, tensor<64xui8> {tw.name = "positive"}, tensor<4xf32> {tw.name = "table"}) {
  %large = tw.constant dense<2147483600> : tensor<i32>
  %a = tw.add %x, %large : (tensor<64xi32>, tensor<i32>) -> tensor<64xi32>
  %more = tw.lt %a, %x : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %c = tw.constant dense<100000000> : tensor<i32>
  %m = tw.mul %x, %c : (tensor<64xi32>, tensor<i32>) -> tensor<64xi32>
  %quotient = tw.div_trunc %m, %c : (tensor<64xi32>, tensor<i32>) -> tensor<64xi32>
  %shifted = tw.shift_left %x, %s : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  %three = tw.constant dense<3> : tensor<i8>
  %bytes = tw.shift_left %b, %three : (tensor<64xi8>, tensor<i8>) -> tensor<64xi8>
  %five = tw.constant dense<5> : tensor<i8>
  %clamped = tw.minimum %b, %five : (tensor<64xi8>, tensor<i8>) -> tensor<64xi8>
  %r = tw.relu %w : (tensor<64xi64>) -> tensor<64xi64>
  %long = tw.mul %r, %r : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  %positive = tw.relu %u : (tensor<64xui8>) -> tensor<64xui8>
  %rom = tw.constant dense<[1.5, 0xFF800000, -3.0, 4.0]> : tensor<4xf32>
  %table = tw.exp %rom : (tensor<4xf32>) -> tensor<4xf32>
  return %more, %quotient, %shifted, %bytes, %clamped, %long, %positive, %table : tensor<64xi1>, tensor<64xi32>, tensor<64xi32>, tensor<64xi8>, tensor<64xi8>, tensor<64xi64>, tensor<64xui8>, tensor<4xf32>
}
