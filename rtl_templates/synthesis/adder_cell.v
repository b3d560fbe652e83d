// A full adder as a cell; with a constant operand it is plain logic.
(* techmap_celltype = "mive_full_adder" *)
module adder_cell (a_i, b_i, c_i, carry_o, sum_o);
  input  a_i, b_i, c_i;
  output carry_o, sum_o;
  parameter _TECHMAP_CONSTMSK_a_i_ = 0;
  parameter _TECHMAP_CONSTMSK_b_i_ = 0;
  parameter _TECHMAP_CONSTMSK_c_i_ = 0;
  generate
    if (_TECHMAP_CONSTMSK_a_i_ || _TECHMAP_CONSTMSK_b_i_ || _TECHMAP_CONSTMSK_c_i_) begin : gen_logic
      assign sum_o   = a_i ^ b_i ^ c_i;
      assign carry_o = (a_i & b_i) | (c_i & (a_i | b_i));
    end else begin : gen_cell
${cell}
    end
  endgenerate
endmodule
