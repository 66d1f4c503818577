// 2mm of PolyBench, with a tenth of the sizes of MEDIUM: alpha A B C + beta D.
func.func @main(%A: tensor<18x21xf32> {tw.name = "A"},
                %B: tensor<21x19xf32> {tw.name = "B"},
                %C: tensor<19x22xf32> {tw.name = "C"},
                %D: tensor<18x22xf32> {tw.name = "D"})
    -> (tensor<18x22xf32> {tw.name = "E"}) {
  %alpha = tw.constant dense<1.5> : tensor<f32>
  %beta = tw.constant dense<1.2> : tensor<f32>
  %AB = tw.matmul %A, %B : (tensor<18x21xf32>, tensor<21x19xf32>) -> tensor<18x19xf32>
  %tmp = tw.mul %AB, %alpha : (tensor<18x19xf32>, tensor<f32>) -> tensor<18x19xf32>
  %ABC = tw.matmul %tmp, %C : (tensor<18x19xf32>, tensor<19x22xf32>) -> tensor<18x22xf32>
  %right = tw.mul %D, %beta : (tensor<18x22xf32>, tensor<f32>) -> tensor<18x22xf32>
  %E = tw.add %ABC, %right : (tensor<18x22xf32>, tensor<18x22xf32>) -> tensor<18x22xf32>
  return %E : tensor<18x22xf32>
}
