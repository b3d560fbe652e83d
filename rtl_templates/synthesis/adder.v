// A full adder on its way to a cell of the library.
module mive_full_adder (
  input  a_i,
  input  b_i,
  input  c_i,
  output carry_o,
  output sum_o
);
endmodule
