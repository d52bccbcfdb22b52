// SPDX-License-Identifier: Apache-2.0
//! Makes a call with the Rust client on each socket in a file, which is a JSON array of paths, and prints each result.
use std::time::Duration;

use gpuprobe::{Client, Error, Result};
use serde_json::Value;

fn client_of(socket: &str) -> Client {
    let timeout = Duration::from_millis(if socket.contains("/late-") { 300 } else { 60_000 });
    Client::new().socket(socket).timeout(Some(timeout)).daemon_only()
}

fn ask(socket: &str) -> Result<String> {
    let answer = client_of(socket).call::<Value>("Describe", &())?.to_string();
    Ok(format!("answers {}", if answer.len() < 4096 { &answer } else { "long" }))
}

/// Makes a call whose answer is read into generated types.
fn typed(socket: &str) -> Result<String> {
    client_of(socket).describe().map(|_| "answers".to_owned())
}

fn follow(socket: &str) -> Result<String> {
    for change in client_of(socket).watch()?.take(1000) {
        change?;
    }
    Ok("answers".to_owned())
}

/// Checks that each answer belongs to its call.
fn repeat(socket: &str) -> Result<String> {
    let (client, gate) = (client_of(socket), client_of(&socket.replace("/echo", "/gate")));
    for number in 0..20 {
        let method = format!("x.Method{number}");
        let answer = client.call::<Value>(&method, &());
        gate.call::<Value>("Describe", &())?;
        match answer {
            Ok(answer) if answer["method"] != method.as_str() => return Ok(format!("LEAKED: {method} is answered with {answer}")),
            _ => {}
        }
    }
    Ok("answers".to_owned())
}

/// Makes a call that gpuprobectl answers, because no daemon listens on the socket.
fn program(socket: &str) -> Result<String> {
    let answer = Client::new().socket(socket).call::<Value>("Describe", &());
    if let Err(problem) = &answer {
        eprintln!("{problem}");
    }
    answer.map(|answer| answer.to_string())
}

fn outcome(answer: Result<String>) -> String {
    match answer {
        Ok(answer) => answer,
        Err(Error::Refused(refusal)) if refusal.message.is_empty() => "LEAKED nothing".to_owned(),
        Err(Error::Refused(_)) => "refused".to_owned(),
        Err(Error::TimedOut(_)) => "late".to_owned(),
        Err(Error::Unavailable(_) | Error::Invalid(_)) => "fails".to_owned(),
        Err(problem) => format!("LEAKED {problem}"),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let ways: &dyn Fn(&str) -> Result<String> = match words[1].as_str() {
        "ask" => &ask,
        "typed" => &typed,
        "follow" => &follow,
        "program" => &program,
        _ => &repeat,
    };
    let sockets: Vec<String> = serde_json::from_str(&std::fs::read_to_string(&words[2]).unwrap()).unwrap();
    for socket in sockets {
        println!("{}", outcome(ways(&socket)).replace('\n', " "));
    }
}
