// ${bench}: self-checking test bench of ${top}.
//
${header}//
// Reads lines of a cycle each: reset and inputs, then expected outputs, then one bit an output that
// says whether it is compared. Drives on the falling edge and compares before the rising one.
// Run it in the folder that holds vectors/, or name one file: +vectors=FILE.
`timescale 1ns / 1ps

module ${bench};

  reg clk_i;
  reg [${line_high}:0] line;
  reg [${stimulus_high}:0] stimulus;
  reg [8*1024-1:0] file_name;
  integer cycles, mismatches, files;

${wires}
  ${top} u_dut (
    .clk_i(clk_i),
    .rst_ni(stimulus[0]),
${connections}
  );

  initial begin
    clk_i = 1'b0;
    forever #5 clk_i = ~clk_i;
  end

  task compare(input integer cycle);
    begin
${checks}
    end
  endtask

  task run(input [8*1024-1:0] name);
    integer file, cycle;
    begin
      file = $fopen(name, "r");
      files = files + 1;
      cycle = 0;
      if (file == 0) begin
        mismatches = mismatches + 1;
        $display("FAIL: cannot open %0s; run this in the folder that holds vectors/", name);
      end else begin
        while ($fscanf(file, "%h\n", line) == 1) begin
          @(negedge clk_i);
          stimulus = line[${stimulus_high}:0];
          #2;
          compare(cycle);
          cycle = cycle + 1;
        end
        $fclose(file);
        if (cycle == 0) begin
          mismatches = mismatches + 1;
          $display("FAIL: %0s holds no cycle", name);
        end
      end
      cycles = cycles + cycle;
    end
  endtask

  initial begin
    cycles = 0;
    mismatches = 0;
    files = 0;
    line = 0;
    stimulus = 1;
    @(negedge clk_i);
    if ($value$plusargs("vectors=%s", file_name)) begin
      run(file_name);
    end else begin
${runs}
    end
    if (mismatches == 0) begin
      $display("PASS: %0d cycles of %0d files, 0 mismatches", cycles, files);
    end else begin
      $display("FAIL: %0d cycles of %0d files, %0d mismatches", cycles, files, mismatches);
    end
    $finish;
  end

endmodule
