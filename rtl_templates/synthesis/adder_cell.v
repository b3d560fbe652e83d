// A full adder as a cell of the library, or as logic where the library has none.
(* techmap_celltype = "mive_full_adder" *)
module adder_cell (a_i, b_i, c_i, carry_o, sum_o);
  input  a_i, b_i, c_i;
  output carry_o, sum_o;
${cell}
endmodule
