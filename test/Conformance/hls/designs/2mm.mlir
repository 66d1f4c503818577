// 2mm of PolyBench, size MEDIUM: alpha A B C + beta D.
func.func @main(%A: tensor<180x210xf32> {tw.name = "A"},
                %B: tensor<210x190xf32> {tw.name = "B"},
                %C: tensor<190x220xf32> {tw.name = "C"},
                %D: tensor<180x220xf32> {tw.name = "D"})
    -> (tensor<180x220xf32> {tw.name = "E"}) {
  %alpha = tw.constant dense<1.5> : tensor<f32>
  %beta = tw.constant dense<1.2> : tensor<f32>
  %AB = tw.matmul %A, %B : (tensor<180x210xf32>, tensor<210x190xf32>) -> tensor<180x190xf32>
  %tmp = tw.mul %AB, %alpha : (tensor<180x190xf32>, tensor<f32>) -> tensor<180x190xf32>
  %ABC = tw.matmul %tmp, %C : (tensor<180x190xf32>, tensor<190x220xf32>) -> tensor<180x220xf32>
  %right = tw.mul %D, %beta : (tensor<180x220xf32>, tensor<f32>) -> tensor<180x220xf32>
  %E = tw.add %ABC, %right : (tensor<180x220xf32>, tensor<180x220xf32>) -> tensor<180x220xf32>
  return %E : tensor<180x220xf32>
}
