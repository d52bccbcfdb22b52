// SPDX-License-Identifier: Apache-2.0
//! Runs a program on the GPU that gpuprobe picks for it, over the daemon's socket. A program of any
//! size reads the answer with serde_json; this one asks with `std` alone.
//!
//! Usage: run_with_gpu APPLICATION PROGRAM [ARGUMENT…]
//! Build: rustc --edition 2021 run_with_gpu.rs
use std::io::{BufRead, BufReader, Write};
use std::os::unix::{net::UnixStream, process::CommandExt};
use std::process::{exit, Command};

/// The members of the object behind `"key":`, which holds strings alone; or the string itself, with
/// an empty name.
fn strings_at(json: &str, key: &str) -> Vec<(String, String)> {
    let start = match json.find(&format!("\"{key}\":")) {
        Some(start) => start,
        None => return Vec::new(),
    };
    let rest = &json[start + key.len() + 3..];
    let mut texts = Vec::new();
    let mut text: Option<String> = None;
    let mut characters = rest.chars();
    while let Some(character) = characters.next() {
        match (&mut text, character) {
            (Some(inside), '\\') => inside.extend(characters.next()),
            (Some(_), '"') => texts.extend(text.take()),
            (Some(inside), _) => inside.push(character),
            (None, '"') => text = Some(String::new()),
            (None, '}' | ']') => break,
            (None, ',') if !rest.starts_with(['{', '[']) => break,
            (None, _) => {}
        }
    }
    if !rest.starts_with('{') {
        return texts.into_iter().map(|text| (String::new(), text)).collect();
    }
    texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

fn text_at(json: &str, key: &str) -> String {
    strings_at(json, key).into_iter().next().unwrap_or_default().1
}

fn ask(application: &str) -> std::io::Result<String> {
    let path = std::env::var("GPUPROBE_SOCKET").unwrap_or("/run/gpuprobe/org.gpuprobe".into());
    let mut socket = UnixStream::connect(path)?;
    let request = r#"{"built":["cuda","vulkan","cpu"]}"#;
    let name = application.replace('\\', r"\\").replace('"', r#"\""#);
    let call = format!(
        r#"{{"method":"org.gpuprobe.Select","parameters":{{"application":"{name}","request":{request}}}}}"#
    );
    socket.write_all(call.as_bytes())?;
    socket.write_all(&[0])?;
    let mut answer = Vec::new();
    BufReader::new(socket).read_until(0, &mut answer)?;
    answer.pop();
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.len() < 3 {
        exit(2);
    }
    let answer = ask(&words[1]).unwrap_or_else(|problem| {
        eprintln!("{problem}");
        exit(1);
    });
    if answer.starts_with(r#"{"error":"org.gpuprobe.NoMatch""#) {
        eprintln!("no backend fits for {}: {}", words[1], text_at(&answer, "message"));
        exit(3);
    }
    if answer.starts_with(r#"{"error":"#) {
        eprintln!("{}: {}", text_at(&answer, "error"), text_at(&answer, "message"));
        exit(1);
    }
    for (_, message) in strings_at(&answer, "messages") {
        eprintln!("{message}");
    }
    eprintln!("{}", text_at(&answer, "decision"));
    let problem = Command::new(&words[2])
        .args(&words[3..])
        .env("GPU_BACKEND", text_at(&answer, "backend"))
        .envs(strings_at(&answer, "environment"))
        .exec();
    eprintln!("{problem}");
    exit(127);
}
