/** A live agent bound to one session: commands in, numbered events out. */
