/** Runs a conversation: turn after turn, with the tools between. */
