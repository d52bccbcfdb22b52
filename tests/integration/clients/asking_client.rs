// SPDX-License-Identifier: Apache-2.0
//! Makes the calls on standard input, a line "METHOD<TAB>PARAMETERS" each, on the socket in the argument, and prints a line with the answer, or
//! "refused", for each.
use std::io::BufRead;

use gpuprobe::{Client, Error};
use serde_json::Value;

fn main() {
    let client = Client::new().socket(std::env::args().nth(1).unwrap()).daemon_only();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (method, parameters) = line.split_once('\t').unwrap();
        let parameters: Value = serde_json::from_str(parameters).unwrap();
        match client.call::<Value>(method, &parameters) {
            Ok(answer) => println!("{answer}"),
            Err(Error::Refused(_)) => println!("refused"),
            Err(problem) => println!("fails {problem}"),
        }
    }
}
