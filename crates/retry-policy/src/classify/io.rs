//! The kinds of `std::io::Error`.

use std::io::ErrorKind;

use tidegate_core::Class;

/// What an I/O error kind says by itself, or none where the kind says nothing.
///
/// | class | kinds |
/// |---|---|
/// | transient | connections refused, reset, aborted, lost; peers and networks out of reach; time-outs; busy, interrupted |
/// | fatal | a full, over-quota or read-only file system: the next item would fail too |
/// | terminal | not found, not permitted, exists already, invalid, unsupported |
/// | none | `Other`, out of memory, and kinds that this version does not know |
///
/// ```
/// use std::io::ErrorKind;
/// use tidegate_retry_policy::{Class, class_of_io};
///
/// assert_eq!(class_of_io(ErrorKind::ConnectionReset), Some(Class::Transient));
/// assert_eq!(class_of_io(ErrorKind::StorageFull), Some(Class::Fatal));
/// assert_eq!(class_of_io(ErrorKind::Other), None);
/// ```
#[must_use]
pub fn class_of_io(kind: ErrorKind) -> Option<Class> {
    use ErrorKind as Kind;
    match kind {
        Kind::ConnectionRefused
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::NotConnected
        | Kind::BrokenPipe
        | Kind::UnexpectedEof
        | Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown
        | Kind::AddrInUse
        | Kind::AddrNotAvailable
        | Kind::TimedOut
        | Kind::WouldBlock
        | Kind::Interrupted
        | Kind::ResourceBusy
        | Kind::ExecutableFileBusy
        | Kind::Deadlock => Some(Class::Transient),
        Kind::StorageFull | Kind::QuotaExceeded | Kind::ReadOnlyFilesystem => Some(Class::Fatal),
        Kind::NotFound
        | Kind::PermissionDenied
        | Kind::AlreadyExists
        | Kind::NotADirectory
        | Kind::IsADirectory
        | Kind::DirectoryNotEmpty
        | Kind::InvalidInput
        | Kind::InvalidData
        | Kind::FileTooLarge
        | Kind::NotSeekable
        | Kind::TooManyLinks
        | Kind::CrossesDevices
        | Kind::ArgumentListTooLong
        | Kind::Unsupported => Some(Class::Terminal),
        _ => None,
    }
}
