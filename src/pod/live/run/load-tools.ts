import { messageOf, PolypodError } from '../../../base/index.ts';
import type { Tool } from '../../../tools/index.ts';
import type { Agent } from '../../agent.ts';

/** Loads the tools of an agent. If that fails, no run can start; the error is not an internal one. */
export async function loadTools(agent: Pick<Agent, 'tools'>): Promise<readonly Tool[]> {
  try {
    return await agent.tools();
  } catch (thrown) {
    if (thrown instanceof PolypodError) throw thrown;
    throw new PolypodError('tool-failed', `the tools cannot be loaded: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}
