"""Programs that use the compiler as anybody would."""
