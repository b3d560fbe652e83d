//! Which names may be printed: the rules of the style guide and the reserved words of both dialects.

/// Reserved words of Verilog-2005 and of SystemVerilog (IEEE 1800-2017, annex B).
const RESERVED: &str = "accept_on alias always always_comb always_ff always_latch and assert assign \
assume automatic before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell \
chandle checker class clocking cmos config const constraint context continue cover covergroup \
coverpoint cross deassign default defparam design disable dist do edge else end endcase endchecker \
endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage \
endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually \
expect export extends extern final first_match for force foreach forever fork forkjoin function \
generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import \
incdir include initial inout input inside instance int integer interconnect interface intersect join \
join_any join_none large let liblist library local localparam logic longint macromodule matches \
medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 \
null or output package packed parameter pmos posedge primitive priority program property protected \
pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase \
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran \
rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint \
shortreal showcancelled signed small soft solve specify specparam static string strong strong0 \
strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout \
time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union \
unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait wait_order \
wand weak weak0 weak1 while wildcard wire with within wor xnor xor";

/// True for a word that either dialect keeps for itself.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.split_whitespace().any(|word| word == name)
}

/// Checks a user's prefix for module names: empty, or a letter and then letters, digits
/// and `_`.
pub fn check_prefix(prefix: &str) -> Result<(), String> {
    const LONGEST: usize = 40;
    if prefix.is_empty() {
        return Ok(());
    }
    if prefix.len() > LONGEST {
        return Err(format!("the prefix has {} characters; {LONGEST} are allowed", prefix.len()));
    }
    if !prefix.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(format!("the prefix `{prefix}` must start with a letter"));
    }
    match prefix.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '_')) {
        Some(c) => Err(format!(
            "the prefix `{prefix}` holds `{c}`; only letters, digits and _ are allowed"
        )),
        None => Ok(()),
    }
}

/// Checks the name of a word, a port, an instance, a memory, a function or a module.
pub fn check_name(name: &str) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(legal) {
        return Err(format!("`{name}` is not a lower-case name"));
    }
    if is_reserved(name) {
        return Err(format!("`{name}` is a reserved word of Verilog"));
    }
    let tail = name.rsplit('_').next().unwrap_or("");
    if tail != name && !tail.is_empty() && tail.chars().all(|c| c.is_ascii_digit()) {
        return Err(format!("`{name}` ends in a number; give it a name that says what it is"));
    }
    Ok(())
}

/// Checks the name of a module, which may end in a number, and the name under which it is printed.
pub fn check_module(name: &str, printed: &str) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(legal) {
        return Err(format!("`{name}` is not a lower-case name"));
    }
    if is_reserved(printed) {
        return Err(format!("`{printed}` is a reserved word of Verilog; choose another prefix"));
    }
    Ok(())
}

/// The printed name of a word: `sum_q_q`, a sum delayed twice, is `sum_q2`.
pub fn printed(name: &str) -> String {
    let base = name.trim_end_matches("_q");
    match (name.len() - base.len()) / 2 {
        0 => name.to_string(),
        1 => format!("{base}_q"),
        delays => format!("{base}_q{delays}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        for good in ["", "mive_", "a", "edge16_", "ACME_"] {
            assert_eq!(check_prefix(good), Ok(()), "{good}");
        }
        for bad in ["1x", "_x", "a-b", "a b", "é", &"a".repeat(41)] {
            assert!(check_prefix(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names() {
        for good in ["sum", "sum_q2", "x8", "lane_mean", "input_row"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", "wire", "logic", "priority", "sum_2", "Sum", "9x", "a.b"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        assert_eq!(printed("sum_q_q_q"), "sum_q3");
        assert_eq!((printed("sum").as_str(), printed("sum_q").as_str()), ("sum", "sum_q"));
    }
}
