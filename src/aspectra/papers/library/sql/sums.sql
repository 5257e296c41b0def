-- Format 4. By relation and bucket: the exclusive or of the hashes of all rows, see `checksums`.
CREATE TABLE sums (relation TEXT NOT NULL, bucket NOT NULL, total INTEGER NOT NULL, PRIMARY KEY (relation, bucket)) WITHOUT ROWID;
