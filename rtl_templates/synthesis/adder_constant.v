// A full adder with a constant operand is plain logic; others stay.
(* techmap_celltype = "mive_full_adder" *)
module adder_constant (a_i, b_i, c_i, carry_o, sum_o);
  input  a_i, b_i, c_i;
  output carry_o, sum_o;
  parameter _TECHMAP_CONSTMSK_a_i_ = 0;
  parameter _TECHMAP_CONSTMSK_b_i_ = 0;
  parameter _TECHMAP_CONSTMSK_c_i_ = 0;
  wire _TECHMAP_FAIL_ =
      !(_TECHMAP_CONSTMSK_a_i_ || _TECHMAP_CONSTMSK_b_i_ || _TECHMAP_CONSTMSK_c_i_);
  assign sum_o   = a_i ^ b_i ^ c_i;
  assign carry_o = (a_i & b_i) | (c_i & (a_i | b_i));
endmodule
