-- Format 6. The hash of the other columns of a row, see `row_sums`; marks have theirs as a generated column.
ALTER TABLE papers ADD COLUMN checksum INTEGER;
ALTER TABLE papers ADD COLUMN reference_checksum INTEGER;
ALTER TABLE citations ADD COLUMN checksum INTEGER;
ALTER TABLE meta ADD COLUMN checksum INTEGER;
ALTER TABLE producers ADD COLUMN checksum INTEGER;
ALTER TABLE derived ADD COLUMN checksum INTEGER;
