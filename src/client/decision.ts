/** What a client decides about a tool call that needs approval. */
export type Decision = 'approve' | 'deny';
