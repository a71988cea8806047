//! The backend in Rust of the guide (docs/guide/front-end.md): it submits jobs and mints tokens for a web page.

/// Word for word what stands there.
mod guide {
    include!("guide.rs.inc");

    pub(super) fn run() -> std::io::Result<()> {
        main()
    }
}

fn main() -> std::io::Result<()> {
    // Our reqwest leaves it to the program who encrypts. As `cargo add` gives it, it does not.
    let _ = rustls::crypto::ring::default_provider().install_default();
    guide::run()
}
