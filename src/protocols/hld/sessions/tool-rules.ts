import type { PodSettings } from '../../../pod/index.ts';

type Rule = PodSettings['rules'][number];
type ToolLimit = NonNullable<PodSettings['toolLimit']>;

/** The tools that a client allows and denies, in the syntax of Claude Code. */
export interface ToolLists {
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
}

/** Converts the lists to rules. Denials come first. */
export function toolRules({ allowedTools = [], disallowedTools = [] }: ToolLists): readonly Rule[] {
  return [
    ...disallowedTools.flatMap((entry) => rulesOf(entry, 'deny')),
    ...allowedTools.flatMap((entry) => rulesOf(entry, 'auto')),
  ];
}

/** The tools that are hidden from the model: those that are denied for every use. */
export function toolLimitWith(limit: ToolLimit | undefined, before: ToolLists, now: ToolLists): ToolLimit {
  const gone = new Set(hiddenTools(before));
  const kept = (limit?.without ?? []).filter((name) => !gone.has(name));
  return { ...limit, without: [...new Set([...kept, ...hiddenTools(now)])] };
}

function hiddenTools({ disallowedTools = [] }: ToolLists): readonly string[] {
  return disallowedTools
    .flatMap((entry) => rulesOf(entry, 'deny'))
    .flatMap(({ tool, command, path, host }) =>
      tool === undefined || [command, path, host].some((pattern) => pattern !== undefined) ? [] : [tool],
    );
}

/** The rules of a session after its lists were replaced. Rules that people added by decisions are preserved. */
export function withToolLists(rules: readonly Rule[], before: ToolLists, now: ToolLists): readonly Rule[] {
  const gone = new Set(toolRules(before).map((rule) => JSON.stringify(rule)));
  return [...toolRules(now), ...rules.filter((rule) => !gone.has(JSON.stringify(rule)))];
}

/** `Bash`, `Bash(git log:*)`, `Edit(src/**)`, `WebFetch(domain:example.com)`, `mcp__server`, `mcp__server__tool`. */
function rulesOf(entry: string, action: 'auto' | 'deny'): readonly Rule[] {
  const { name = '', about } = /^\s*(?<name>[^\s()]+)\s*(?:\((?<about>.*)\))?\s*$/s.exec(entry)?.groups ?? {};
  if (name === '') return [];
  return toolsOf(name).map((tool) => ({ tool, ...patternOf(tool, about), action }));
}

function patternOf(tool: string, about: string | undefined): Partial<Rule> {
  if (about === undefined || about === '' || about === '*') return {};
  if (tool === 'web_fetch') return { host: about.replace(/^domain:/, '') };
  if (tool !== 'bash') return { path: about };
  const prefix = /^(?<command>.*?)(?::\*|\s\*)$/s.exec(about)?.groups?.command;
  return prefix === undefined ? { command: about, exact: true } : { command: prefix };
}

function toolsOf(name: string): readonly string[] {
  if (/^mcp__[^_]+(?:_[^_]+)*$/.test(name)) return [`${name}__*`];
  return OURS.get(name) ?? [name];
}

/** Maps tool names of Claude Code to ours. */
const OURS: ReadonlyMap<string, readonly string[]> = new Map([
  ['Bash', ['bash']],
  ['BashOutput', ['bash_output']],
  ['KillShell', ['bash_kill']],
  ['Read', ['read']],
  ['Edit', ['edit']],
  ['MultiEdit', ['edit']],
  ['Write', ['write']],
  ['Grep', ['grep']],
  ['Glob', ['find']],
  ['LS', ['ls']],
  ['TodoWrite', ['todo']],
  ['WebFetch', ['web_fetch']],
  ['WebSearch', ['web_search']],
]);
