// mive_ram_1r1w: memory of one write port and one registered read port.
//
// Hand-written template; replace it by the memory macro of your technology.
// Reading the address that is written in the same cycle gives the old word. The read word holds
// while ren_i is low. There is no reset: a word is unknown until it is written.
module mive_ram_1r1w #(
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

endmodule
