"""Commands that check, mend, back up and complete an installation and its library."""
