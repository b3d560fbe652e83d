//! Progress on standard error: a bar on a terminal, plain lines off it.
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::say;
use crate::report::run::{Event, Progress};

/// A job that is done sooner shows nothing.
const QUIET: Duration = Duration::from_secs(2);
/// Time between plain lines.
const EVERY: Duration = Duration::from_secs(10);

/// Shows how far a job is.
pub struct Display {
    bar: Option<ProgressBar>,
    last: Mutex<Instant>,
    started: Instant,
}

impl Display {
    pub fn new() -> Self {
        let now = Instant::now();
        let bar = std::io::stderr().is_terminal().then(|| {
            let has_colour = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
            let filled = if has_colour { "{bar:30.cyan}" } else { "{bar:30}" };
            let template = format!("{{msg:<12}} {filled} {{pos}}/{{len}} rows, {{eta}} left");
            let style = ProgressStyle::with_template(&template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
            bar.set_style(style);
            bar
        });
        Self { bar, last: Mutex::new(now), started: now }
    }

    pub fn show(&self, event: Event) {
        match event {
            Event::Progress(p) => self.progress(p),
            Event::Note(text) => match &self.bar {
                Some(bar) => bar.suspend(|| say(&format!("note: {text}"))),
                None => say(&format!("note: {text}")),
            },
        }
    }

    fn progress(&self, p: Progress) {
        if self.started.elapsed() < QUIET {
            return;
        }
        if let Some(bar) = &self.bar {
            if bar.message() != p.stage {
                bar.set_length(p.rows as u64);
                bar.reset();
                bar.set_message(p.stage);
            }
            bar.set_position(p.rows_done as u64);
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            return;
        }
        let Ok(mut last) = self.last.lock() else { return };
        if last.elapsed() >= EVERY {
            *last = Instant::now();
            say(&format!("{}: {} of {} rows", p.stage, p.rows_done, p.rows));
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
