// mive_ram_1r1w_latch: memory of latches with one write port and one registered read port.
//
// Hand-written template. The word to write waits in a register; the latches of its address are open
// in the low half of the next cycle, so the word can be read in that cycle, and their enable cannot
// glitch: what it depends on besides the clock changes just after the rising edge, which closes it.
// Reading the address that is written in the same cycle gives the old word. The read word holds
// while ren_i is low. There is no reset: a word is unknown until it is written.
module mive_ram_1r1w_latch #(
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

  reg                    wen_q;
  reg  [AddressBits-1:0] waddr_q;
  reg  [Width-1:0]       wdata_q;
  wire [Depth*Width-1:0]       words;
  reg  [Width-1:0]       rdata_q;

  always @(posedge clk_i) begin
    wen_q <= wen_i;
    if (wen_i) begin
      waddr_q <= waddr_i;
      wdata_q <= wdata_i;
    end
  end

  genvar k;
  generate
    for (k = 0; k < Depth; k = k + 1) begin : gen_word
      wire             is_open;
      reg  [Width-1:0] word;
      assign is_open = ~clk_i & wen_q & (waddr_q == k[AddressBits-1:0]);
      // The latch is meant; Verilog-2005 has no word for it.
      // verilator lint_off LATCH
      always @* begin
        if (is_open) begin
          word = wdata_q;
        end
      end
      // verilator lint_on LATCH
      assign words[k*Width +: Width] = word;
    end
  endgenerate

  always @(posedge clk_i) begin
    if (ren_i) begin
      rdata_q <= words[raddr_i*Width +: Width];
    end
  end

  assign rdata_o = rdata_q;

endmodule
