// SPDX-License-Identifier: Apache-2.0
//! Runs a program on the GPU that gpuprobe chooses for it.
//!
//! Usage: run_with_gpu APPLICATION PROGRAM [ARGUMENT…]
use std::os::unix::process::CommandExt;
use std::process::{exit, Command};

use gpuprobe::{Client, Error, ErrorName, SelectParameters, SelectRequest};

/// Prints why no backend was chosen, and how to fix the problem.
fn fail(application: &str, error: Error) -> ! {
    let refusal = match error {
        Error::Refused(refusal) if refusal.name == ErrorName::NoMatch => refusal,
        other => {
            eprintln!("{other}");
            exit(1);
        }
    };
    eprintln!("no backend fits for {application}: {}", refusal.message);
    for candidate in refusal.candidates {
        for reason in candidate.reasons {
            eprintln!("  {}: {}", candidate.backend, reason.text.unwrap_or(reason.code));
            if let Some(fix) = reason.fix {
                eprintln!("    fix: {fix}");
            }
        }
    }
    exit(3);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.len() < 3 {
        exit(2);
    }
    let built = ["cuda", "vulkan", "cpu"].map(String::from).to_vec();
    let request = SelectRequest { built: Some(built), ..Default::default() };
    let parameters = SelectParameters { application: Some(words[1].clone()), request: Some(request) };
    let choice = Client::new().select(&parameters).unwrap_or_else(|error| fail(&words[1], error));
    for message in &choice.messages {
        eprintln!("{message}");
    }
    eprintln!("{}", choice.decision);
    let problem = Command::new(&words[2])
        .args(&words[3..])
        .env("GPU_BACKEND", choice.backend.unwrap_or_default())
        .envs(choice.environment)
        .exec();
    eprintln!("{problem}");
    exit(127);
}
