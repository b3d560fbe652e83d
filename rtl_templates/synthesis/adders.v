// Carry-save words and carry-propagate chains as full adders, one a bit.
(* techmap_celltype = "$fa" *)
module carry_save (A, B, C, X, Y);
  parameter WIDTH = 1;
  input  [WIDTH-1:0] A, B, C;
  output [WIDTH-1:0] X, Y;
  genvar k;
  generate
    for (k = 0; k < WIDTH; k = k + 1) begin : gen_bit
      mive_full_adder u_adder (
        .a_i(A[k]), .b_i(B[k]), .c_i(C[k]), .carry_o(X[k]), .sum_o(Y[k])
      );
    end
  endgenerate
endmodule

(* techmap_celltype = "$alu" *)
module carry_propagate (A, B, CI, BI, X, Y, CO);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  input  [A_WIDTH-1:0] A;
  input  [B_WIDTH-1:0] B;
  input                CI, BI;
  output [Y_WIDTH-1:0] X, Y, CO;
  wire   [Y_WIDTH-1:0] a, plain, b;
  wire   [Y_WIDTH:0]   carry;
  generate
    if (A_WIDTH >= Y_WIDTH) begin : gen_a
      assign a = A[Y_WIDTH-1:0];
    end else begin : gen_a
      assign a = {{(Y_WIDTH-A_WIDTH){A_SIGNED ? A[A_WIDTH-1] : 1'b0}}, A};
    end
    if (B_WIDTH >= Y_WIDTH) begin : gen_b
      assign plain = B[Y_WIDTH-1:0];
    end else begin : gen_b
      assign plain = {{(Y_WIDTH-B_WIDTH){B_SIGNED ? B[B_WIDTH-1] : 1'b0}}, B};
    end
  endgenerate
  assign b        = plain ^ {Y_WIDTH{BI}};
  assign carry[0] = CI;
  assign CO       = carry[Y_WIDTH:1];
  assign X        = a ^ b;
  genvar k;
  generate
    for (k = 0; k < Y_WIDTH; k = k + 1) begin : gen_bit
      mive_full_adder u_adder (
        .a_i(a[k]), .b_i(b[k]), .c_i(carry[k]), .carry_o(carry[k+1]), .sum_o(Y[k])
      );
    end
  endgenerate
endmodule
