//! Connections in plain text only: the library without its feature `tls`.

use tokio_postgres::NoTls;
use tokio_postgres::tls::MakeTlsConnect;

/// What cannot encrypt.
#[derive(Clone, Debug)]
pub(crate) struct Tls;

impl<S> MakeTlsConnect<S> for Tls
where
    NoTls: MakeTlsConnect<S>,
{
    type Stream = <NoTls as MakeTlsConnect<S>>::Stream;
    type TlsConnect = <NoTls as MakeTlsConnect<S>>::TlsConnect;
    type Error = <NoTls as MakeTlsConnect<S>>::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Self::TlsConnect, Self::Error> {
        MakeTlsConnect::<S>::make_tls_connect(&mut NoTls, domain)
    }
}
