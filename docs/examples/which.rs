// SPDX-License-Identifier: Apache-2.0
//! Prints which build of PyTorch to download and why other builds do not fit; prints the new answer after each change.
use gpuprobe::{Client, RecommendParameters};

fn main() -> gpuprobe::Result<()> {
    let client = Client::new();
    let torch = RecommendParameters { application: Some("torch".into()), ..Default::default() };
    for change in client.watch()? {
        change?;
        let answer = client.recommend(&torch)?;
        let urls = answer.artifact.and_then(|artifact| artifact.urls).unwrap_or_default();
        println!("download: {} [{}]", answer.variant.as_deref().unwrap_or("nothing"), urls.join(" "));
        for each in answer.candidates {
            println!("  {} {} {}", each.variant, each.verdict, each.why.unwrap_or_default());
        }
    }
    Ok(())
}
