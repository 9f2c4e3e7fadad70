import type { JsonObject } from '../../base/index.ts';

/** A message as pi and xcsh write it. What is not known of it stays in it. */
export type AgentMessage = JsonObject & { readonly role: string };
