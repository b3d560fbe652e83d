// mive_ram_1r1w_latch: memory of latches with one write port and one registered read port.
//
// Hand-written template. The word to write waits in a register; the latches of its address are open
// in the low half of the next cycle, so the word can be read in that cycle, and their enable cannot
// glitch: what it depends on besides the clock changes just after the rising edge, which closes it.
// Reading the address that is written in the same cycle gives the old word. The read word holds
// while ren_i is low. There is no reset: a word is unknown until it is written.
module mive_ram_1r1w_latch #(
  parameter int Depth = 16,
  parameter int Width = 8,
  parameter int AddressBits = 4
) (
  input  logic                   clk_i,
  input  logic                   wen_i,
  input  logic [AddressBits-1:0] waddr_i,
  input  logic [Width-1:0]       wdata_i,
  input  logic                   ren_i,
  input  logic [AddressBits-1:0] raddr_i,
  output logic [Width-1:0]       rdata_o
);

  logic                   wen_q;
  logic [AddressBits-1:0] waddr_q;
  logic [Width-1:0]       wdata_q;
  logic [Depth*Width-1:0]       words;
  logic [Width-1:0]       rdata_q;

  always_ff @(posedge clk_i) begin
    wen_q <= wen_i;
    if (wen_i) begin
      waddr_q <= waddr_i;
      wdata_q <= wdata_i;
    end
  end

  for (genvar k = 0; k < Depth; k = k + 1) begin : gen_word
    logic             is_open;
    logic [Width-1:0] word;
    assign is_open = ~clk_i & wen_q & (waddr_q == (AddressBits)'(k));
    always_latch begin
      if (is_open) begin
        word = wdata_q;
      end
    end
    assign words[k*Width +: Width] = word;
  end

  always_ff @(posedge clk_i) begin
    if (ren_i) begin
      rdata_q <= words[raddr_i*Width +: Width];
    end
  end

  assign rdata_o = rdata_q;

endmodule : mive_ram_1r1w_latch
