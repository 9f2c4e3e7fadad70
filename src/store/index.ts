/** Append-only logs, session files and the catalogue beside them. */
