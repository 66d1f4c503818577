// A table in a ROM, and 64-bit integers.
func.func @main(%x: tensor<5x8xi64> {tw.name = "x"}) -> (tensor<5x8xi64> {tw.name = "y"}) {
  %c = tw.constant dense<[3, -5, 70000000000, 0, 1, -1, 12, 9]> : tensor<8xi64>
  %m = tw.mul %x, %c : (tensor<5x8xi64>, tensor<8xi64>) -> tensor<5x8xi64>
  %y = tw.add %m, %x : (tensor<5x8xi64>, tensor<5x8xi64>) -> tensor<5x8xi64>
  return %y : tensor<5x8xi64>
}
