//! Every shipped configuration can be described.
use mive::{config, engine::Engine};
use std::path::Path;

#[test]
fn shipped_configurations_describe() {
    let mut n = 0;
    for entry in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("hw_configs")).expect("folder")
    {
        let path = entry.expect("entry").path();
        let config = config::load(&path).expect("a shipped configuration is legal");
        let engine = Engine::describe(&config);
        println!(
            "{}: {:?} register bits {}",
            config.name,
            engine.widths,
            engine.top.register_bits()
        );
        n += 1;
    }
    assert!(n >= 5);
}
