//! The commands from outside, and the services that they bring up.

mod postgres;
