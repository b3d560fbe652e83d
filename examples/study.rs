use mive::{
    config::HwConfig,
    engine::Engine,
    gates::{Counts, Kind, blast},
    tech::{Flow, Tech},
    tools::{
        library::LibraryFiles,
        synthesis::{Measured, Target},
    },
};
use std::{path::PathBuf, rc::Rc};
fn modules(top: &Rc<mive::rtl::Module>, all: &mut Vec<Rc<mive::rtl::Module>>) {
    for i in &top.instances {
        modules(&i.module, all);
    }
    if !all.iter().any(|m| m.name == top.name) {
        all.push(top.clone());
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (from, to, flow) = (a[1].parse::<u64>().unwrap(), a[2].parse::<u64>().unwrap(), &a[3]);
    let flow = if flow == "area" { Flow::Area } else { Flow::Plain };
    let tech = Tech::parse(&std::fs::read_to_string(&a[4]).unwrap(), "x").unwrap();
    let lib = LibraryFiles::read(&a[5..].iter().map(PathBuf::from).collect::<Vec<_>>()).unwrap();
    let t = Target::new(&tech, flow, Some(&lib)).unwrap();
    for seed in from..to {
        let c = if seed == 0 { HwConfig::defaults() } else { HwConfig::random(seed, 32) };
        let e = Engine::describe(&c);
        let d = tempfile::tempdir().unwrap();
        let m: Vec<Measured> =
            if std::env::var("COUNTS").is_ok() { vec![] } else { t.measure(&e, d.path()).unwrap() };
        let mut all = vec![];
        modules(&e.top, &mut all);
        for module in all {
            let block = if Rc::ptr_eq(&module, &e.top) { "shell" } else { &module.name };
            let k = Counts::of(&blast::module(&module));
            let area = m.iter().find(|x| x.block == block).map_or(0.0, |x| x.area);
            let ks: Vec<String> = Kind::ALL.iter().map(|&i| k[i].to_string()).collect();
            println!("{seed},{},{block},{area},{}", c.lanes, ks.join(","));
        }
    }
}
