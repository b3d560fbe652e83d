use mive::{
    config,
    engine::Engine,
    rtl::verilog::{self, Dialect, Style},
};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let c = config::load(std::path::Path::new(&a[1])).unwrap_or_else(|e| panic!("{e}"));
    let e = Engine::describe(&c);
    let d = if a.len() > 3 { Dialect::Verilog2005 } else { Dialect::SystemVerilog };
    for (n, t) in verilog::print_all(&e.top, &Style::new(d)) {
        std::fs::write(format!("{}/{n}", a[2]), t).unwrap();
    }
}
