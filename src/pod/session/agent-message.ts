import type { JsonObject } from '../../base/index.ts';

/** A message in the format of pi and xcsh. Unknown fields are preserved. */
export type AgentMessage = JsonObject & { readonly role: string };
