//! Readers and writers for data sets whose labels may be wrong.
