// SPDX-License-Identifier: Apache-2.0
//! Makes each call in a file, [[machine, method, parameters], …], and prints each answer as one line of JSON.
use gpuprobe::{Client, Error};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).unwrap_or_default();
    let questions: Vec<(String, String, Value)> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let client = Client::new();
    for (machine, method, parameters) in questions {
        std::env::set_var("MACHINE", machine);
        match client.call::<Value>(&method, &parameters) {
            Err(Error::Refused(refusal)) => println!("{}", refusal.details),
            answer => println!("{}", answer?),
        }
    }
    Ok(())
}
