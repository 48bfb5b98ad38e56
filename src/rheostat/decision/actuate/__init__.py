"""Set caps on devices, and put back what was there: journal first, lower first, restore always."""
