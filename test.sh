#!/usr/bin/env bash
# Installs what is missing and passes every test. On Debian with Rust, gcc and Python; root or sudo for packages.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
command -v yosys >/dev/null || missing+=(yosys)
command -v verilator >/dev/null || missing+=(verilator)
command -v iverilog >/dev/null || missing+=(iverilog)
command -v g++ >/dev/null || missing+=(g++)
command -v make >/dev/null || missing+=(make)
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]}"
  run=""
  [ "$(id -u)" = 0 ] || run="sudo"
  $run apt-get update -qq
  $run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
for component in rustfmt clippy; do
  cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$component"
done

export MIVE_REQUIRE_TOOLS=1
step() { printf '\n== %s\n' "$*"; }
step format
cargo fmt --check
step lint
cargo clippy --release --all-targets -- -D warnings
step tests
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo test --release 2>&1 | tee "$log"
passed=$(grep -oE '^test result: ok\. [0-9]+ passed' "$log" | grep -oE '[0-9]+' | awk '{n += $1} END {print n + 0}')
[ "$passed" -gt 0 ] || { echo "no test ran"; exit 1; }
step goldens
export MIVE_BLESS=1
cargo test --release --test rtl emit:: >/dev/null
cargo test --release --test cycles --test accuracy >/dev/null
git diff --exit-code -- golden
step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --quiet
echo
echo "passed: $passed tests, goldens unchanged"
