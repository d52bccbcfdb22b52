// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program that the client runs if no daemon answers.
use std::io;
use std::path::PathBuf;

pub const PROGRAM: &str = "gpuprobectl";

/// The `gpuprobectl` that clients run if no daemon answers: the value of the environment variable `GPUPROBE_PROGRAM`;
/// else, with the feature `bundled`, the path of the program in this crate, which this process and its children can
/// execute until this process ends; otherwise the name "gpuprobectl".
pub fn program() -> io::Result<PathBuf> {
    if let Some(named) = std::env::var_os("GPUPROBE_PROGRAM").filter(|named| !named.is_empty()) {
        return Ok(named.into());
    }
    #[cfg(feature = "bundled")]
    return bundled::path();
    #[cfg(not(feature = "bundled"))]
    Ok(PROGRAM.into())
}

#[cfg(feature = "bundled")]
mod bundled {
    use std::ffi::CStr;
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::raw::{c_char, c_int, c_uint};
    use std::os::unix::io::{AsRawFd, FromRawFd};
    use std::path::PathBuf;
    use std::sync::{Mutex, PoisonError};

    #[cfg(target_arch = "x86_64")]
    const BYTES: &[u8] = include_bytes!("../program/x86_64");
    #[cfg(target_arch = "aarch64")]
    const BYTES: &[u8] = include_bytes!("../program/aarch64");

    const NAME: &[u8] = b"gpuprobectl\0";
    const CLOSE_ON_EXEC: c_uint = 1;
    const MAY_RUN: c_uint = 0x10; // since Linux 6.3; older kernels reject this flag
    const INVALID: i32 = 22;

    // Source: memfd_create(2); every Linux target of std links a C library that has this function.
    extern "C" {
        fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    }

    static FILE: Mutex<Option<File>> = Mutex::new(None);

    pub fn path() -> io::Result<PathBuf> {
        let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            let mut made = memory_file(CLOSE_ON_EXEC | MAY_RUN).or_else(|problem| match problem.raw_os_error() {
                Some(INVALID) => memory_file(CLOSE_ON_EXEC),
                _ => Err(problem),
            })?;
            made.write_all(BYTES)?;
            *file = Some(made);
        }
        let descriptor = file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        Ok(format!("/proc/self/fd/{descriptor}").into())
    }

    fn memory_file(flags: c_uint) -> io::Result<File> {
        let name = CStr::from_bytes_with_nul(NAME).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the name ends with a NUL, and nothing else owns the descriptor that the call returns.
        unsafe {
            match memfd_create(name.as_ptr(), flags) {
                -1 => Err(io::Error::last_os_error()),
                descriptor => Ok(File::from_raw_fd(descriptor)),
            }
        }
    }
}
