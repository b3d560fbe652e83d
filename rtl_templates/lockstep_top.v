// Wraps ${top} for a C++ test bench: one line in, outputs and a verdict out.
module ${bench} (
  input  wire clk_i,
  input  wire [${line_high}:0] line_i,
  output wire [${got_high}:0] got_o,
  output wire [${count_high}:0] bad_o
);

${wires}
  ${top} u_dut (
    .clk_i(clk_i),
    .rst_ni(line_i[0]),
${connections}
  );

  assign got_o = {
    64'd0,
${outputs}
  };
  assign bad_o = {
${verdicts}
  };

endmodule
