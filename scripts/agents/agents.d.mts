export declare const agentsDirectory: string;
export declare const AGENTS: Readonly<
  Record<string, { readonly packages: readonly string[]; readonly bin: string; readonly node?: boolean }>
>;
export declare function agentCommand(name: string): [string, ...string[]];
