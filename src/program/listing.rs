//! Listings of bound programs.
