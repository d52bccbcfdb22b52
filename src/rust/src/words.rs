// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Enumerations whose values are strings.

/// Declares an enumeration of strings. Strings that a newer version adds are read as `Unlisted`.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$meaning:meta])* $word:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$meaning])* $word,)+
            /// A string that this version of the crate does not know.
            Unlisted(String),
        }

        impl $name {
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$word => $text,)+
                    Self::Unlisted(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$word,)+
                    _ => Self::Unlisted(text),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Unlisted(String::new())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer).map(Self::from)
            }
        }
    };
}

pub(crate) use words;
