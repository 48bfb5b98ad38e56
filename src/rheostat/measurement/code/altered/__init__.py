"""The original and the candidate with the same change of their data, which shows rare cases."""
