use mive::{
    config,
    engine::Engine,
    num::{IntFormat, error_metrics::ErrorMetrics},
    program::{self, Binding, library},
    reference,
    rtl::step::Mode,
    simulate::*,
};
fn gauss(s: &mut u64) -> f64 {
    let mut u = || {
        *s ^= *s << 13;
        *s ^= *s >> 7;
        *s ^= *s << 17;
        (*s >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut t = 0.0;
    for _ in 0..12 {
        t += u();
    }
    t - 6.0
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let c = config::load(std::path::Path::new(&a[1])).unwrap_or_else(|e| panic!("{e}"));
    let e = Engine::describe(&c);
    let sim = Simulator::new(&e);
    let ifm: IntFormat = a[2].parse().unwrap();
    let ofs: IntFormat = a[3].parse().unwrap();
    let mode = if a.get(4).is_some_and(|v| v == "check" || v == "full") {
        Mode::Full
    } else {
        Mode::Results
    };
    let checked = a.get(4).is_some_and(|v| v == "check");
    let only = a.get(5);
    for op in
        ["softmax", "softmax_stored", "layernorm", "layernorm_affine", "rmsnorm", "rmsnorm_gamma"]
    {
        if only.is_some_and(|o| o != op) {
            continue;
        }
        for n in [1usize, 3, 7, 64, 100, 768, 1024, 4096, 131072] {
            if n > c.n_max as usize {
                continue;
            }
            let p = library::shipped(op).unwrap();
            let rows = if checked { 4 } else { (400000 / n).clamp(8, 1024) };
            let sm = op.starts_with("softmax");
            let of = if sm { IntFormat { bits: ofs.bits, is_signed: false } } else { ofs };
            let mut s = 0x1234567u64 + n as u64;
            let maxc = ifm.max() as f64;
            let x: Vec<i32> = (0..rows * n)
                .map(|_| (gauss(&mut s) * maxc / 4.0).round().clamp(-maxc - 1.0, maxc) as i32)
                .collect();
            let in_scale = if sm { 8.0 / maxc } else { 4.0 / maxc };
            let gam: Vec<i32> = (0..n)
                .map(|_| {
                    (gauss(&mut s) * 0.25 * maxc + 0.5 * maxc).round().clamp(-maxc, maxc) as i32
                })
                .collect();
            let gs = 1.5 / maxc;
            let has_g = op.ends_with("affine") || op.ends_with("gamma");
            let has_b = op.ends_with("affine");
            let out_scale = if sm { 1.0 / (of.max() as f64) } else { 5.0 / (of.max() as f64) };
            let beta: Vec<i32> =
                (0..n).map(|_| (gauss(&mut s) * 0.3 / out_scale * 32.0).round() as i32).collect();
            let b = Binding {
                row_len: n as u32,
                input_format: ifm,
                output_format: of,
                input_scale: in_scale,
                output_scale: out_scale,
                gamma_scale: if has_g { gs } else { 1.0 },
                eps: 1e-5,
                k_max: 0,
            };
            let l = match program::bind(&p, &e, &b) {
                Ok(l) => l,
                Err(x) => {
                    println!("{op} {n}: {x}");
                    continue;
                }
            };
            let params =
                Parameters { gamma: gam.clone(), beta: beta.iter().map(|b| b + 16).collect() };
            let streams = if checked { 2 } else { (rows / 4).min(64) };
            let mut ses = sim.session(&l, &params, streams, mode);
            if checked {
                ses.stepper().set_checked(true);
            }
            let mut out = vec![0; x.len()];
            let t = std::time::Instant::now();
            let r = ses.run(
                &Rows { row_len: n, x: &x, keep: None, k: None },
                &mut Stall::none(),
                &mut out,
            );
            let dt = t.elapsed().as_secs_f64();
            let mut m = ErrorMetrics::new(of, 0);
            let mut y = vec![];
            for i in 0..rows {
                let xr: Vec<f64> =
                    x[i * n..(i + 1) * n].iter().map(|&v| v as f64 * in_scale).collect();
                let g: Vec<f64> = gam.iter().map(|&v| v as f64 * gs).collect();
                let bb: Vec<f64> = beta.iter().map(|&v| v as f64 * out_scale / 32.0).collect();
                match p.reference.as_deref().unwrap() {
                    "softmax" => reference::softmax(&xr, None, &mut y),
                    "layernorm" => reference::layernorm(
                        &xr,
                        has_g.then_some(&g[..]),
                        has_b.then_some(&bb[..]),
                        1e-5,
                        &mut y,
                    ),
                    _ => reference::rmsnorm(&xr, has_g.then_some(&g[..]), 1e-5, &mut y),
                };
                for k in 0..n {
                    m.add(out[i * n + k] as i64, y[k] / out_scale);
                }
            }
            let d: Vec<u64> = r.row_ends.windows(2).map(|w| w[1] - w[0]).collect();
            let slots = l.body_slots.iter().sum::<u32>() * (l.last_index + 1);
            println!(
                "{op:18} n={n:6} max {:.3} cr {:.3}% sqnr-ideal {:.3} sat {} first {} per {:?} bound {slots} {:.1} Mel/s",
                m.max_error_lsb().unwrap().0,
                100.0 * m.correctly_rounded_share().unwrap(),
                m.sqnr_db().unwrap_or(0.) - m.ideal_sqnr_db().unwrap_or(0.),
                r.saturated,
                r.row_ends[0],
                &d[..d.len().min(5)],
                x.len() as f64 / dt / 1e6
            );
        }
    }
}
