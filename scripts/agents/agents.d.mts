/** The agents for the tests. */
export declare function agentCommand(
  name: 'claude' | 'codex' | 'gemini' | 'opencode' | 'pi',
): [string, ...string[]];
