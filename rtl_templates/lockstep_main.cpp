// Plays a file of cycles through ${bench} and compares outputs with it.
#include <cstdio>
#include <cstring>
#include <memory>
#include "V${bench}.h"
#include "verilated.h"

struct Wire {
  const char *name;
  int got_low;
  int line_low;
  int width;
};

static const Wire wires[] = {
${table}
};
static const int n_wires = sizeof(wires) / sizeof(wires[0]);
static const int line_digits = ${digits};

static void print_bits(const WData *words, int low, int width) {
  for (int digit = (width + 3) / 4 - 1; digit >= 0; --digit) {
    int value = 0;
    for (int k = 3; k >= 0; --k) {
      int bit = digit * 4 + k;
      int at = low + bit;
      value = value * 2 + (bit < width ? (words[at / 32] >> (at % 32)) & 1 : 0);
    }
    std::printf("%x", value);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::printf("FAIL: expected one file of cycles\n");
    return 2;
  }
  std::FILE *file = std::fopen(argv[1], "r");
  if (file == nullptr) {
    std::printf("FAIL: cannot open %s\n", argv[1]);
    return 2;
  }
  auto context = std::make_unique<VerilatedContext>();
  auto top = std::make_unique<V${bench}>(context.get());
  static char text[line_digits + 8];
  long cycle = 0;
  long mismatches = 0;
  WData *line = &top->line_i[0];
  const int n_words = (line_digits + 7) / 8;
  line[0] = 1;
  top->clk_i = 0;
  top->eval();
  while (std::fgets(text, sizeof(text), file) != nullptr) {
    if (static_cast<int>(std::strcspn(text, "\r\n")) != line_digits) {
      std::printf("FAIL: line %ld has another length\n", cycle + 1);
      return 2;
    }
    for (int word = 0; word < n_words; ++word) {
      WData value = 0;
      for (int k = 7; k >= 0; --k) {
        int at = line_digits - 1 - (word * 8 + k);
        char c = at < 0 ? '0' : text[at];
        value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
      }
      line[word] = value;
    }
    top->eval();
    for (int k = 0; k < n_wires; ++k) {
      if ((top->bad_o >> k) & 1) {
        ++mismatches;
        if (mismatches <= 20) {
          std::printf("MISMATCH: cycle %ld: %s: expected ", cycle, wires[k].name);
          print_bits(line, wires[k].line_low, wires[k].width);
          std::printf(", got ");
          print_bits(&top->got_o[0], wires[k].got_low, wires[k].width);
          std::printf("\n");
        }
      }
    }
    top->clk_i = 1;
    top->eval();
    top->clk_i = 0;
    top->eval();
    ++cycle;
  }
  std::fclose(file);
  top->final();
  std::printf("%s: %ld cycles of 1 files, %ld mismatches\n",
              mismatches == 0 && cycle > 0 ? "PASS" : "FAIL", cycle, mismatches);
  return mismatches == 0 && cycle > 0 ? 0 : 1;
}
