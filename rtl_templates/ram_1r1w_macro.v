// mive_ram_1r1w_macro: stands for a memory macro of one write port and one registered read port.
//
// Hand-written template. Synthesis sees a black box; put the macro of your technology there, with
// Depth words of Width bits. Simulation sees the behaviour that the macro must have:
// on a rising edge of clk_i with wen_i high, the word at waddr_i becomes wdata_i; on one with ren_i
// high, rdata_o becomes the word at raddr_i a moment later. Both ports work in the same cycle.
// Reading the address that is written in the same cycle gives the old word. The read word holds
// while ren_i is low. There is no reset: a word is unknown until it is written.
`ifdef SYNTHESIS
(* blackbox *)
`endif
module mive_ram_1r1w_macro #(
  parameter Depth = 16,
  parameter Width = 8,
  parameter AddressBits = 4
) (
  input  wire                   clk_i,
  input  wire                   wen_i,
  input  wire [AddressBits-1:0] waddr_i,
  input  wire [Width-1:0]       wdata_i,
  input  wire                   ren_i,
  input  wire [AddressBits-1:0] raddr_i,
  output wire [Width-1:0]       rdata_o
);
`ifndef SYNTHESIS

  reg [Width-1:0] mem_q [0:Depth-1];
  reg [Width-1:0] rdata_q;

  always @(posedge clk_i) begin
    if (wen_i) begin
      mem_q[waddr_i] <= wdata_i;
    end
  end

  always @(posedge clk_i) begin
    if (ren_i) begin
      rdata_q <= mem_q[raddr_i];
    end
  end

  assign rdata_o = rdata_q;

`endif

endmodule
