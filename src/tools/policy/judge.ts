import { fileFinding, type Finding, judgeCommand } from './judge-command.ts';
import { judgePath } from './judge-path.ts';
import type { ExaminedCall, JudgedAccess } from './judged-access.ts';
import { type Policy, ruleVerdict, type Verdict, verdict } from './policy.ts';
import { decidingRule } from './rule.ts';

/**
 * Decides whether a call may run; every door uses this decision. Every part of the call is judged separately,
 * and the strictest verdict applies.
 */
export function judge(call: ExaminedCall, policy: Policy): Verdict {
  const all = findings(call, policy);
  const verdicts = all.map((finding) => finding.verdict);
  const strictest =
    verdicts.find(({ decision }) => decision === 'deny') ??
    verdicts.find(({ decision }) => decision === 'ask') ??
    verdicts.find(({ rule }) => rule !== undefined) ??
    verdicts[0] ??
    verdict('allow', 'It touches nothing.');
  return strictest.decision === 'allow' ? { ...strictest, onlyReads: isReadOnlyRun(all) } : strictest;
}

/** Returns whether all programs of a call are allowed only because they read. */
function isReadOnlyRun(all: readonly Finding[]): boolean {
  const programs = all.filter(({ about }) => about.type === 'program' || about.type === 'text');
  return programs.length > 0 && programs.every(({ verdict: { onlyReads } }) => onlyReads === true);
}

/** Returns the findings about each part of a call. */
export function findings(call: ExaminedCall, policy: Policy): readonly Finding[] {
  if (call.access.length === 0) return [{ verdict: judgeTool(call.tool, policy), about: { type: 'tool' } }];
  return call.access.flatMap((access) => judgeAccess(call.tool, access, policy));
}

function judgeAccess(tool: string, access: JudgedAccess, policy: Policy): readonly Finding[] {
  if (access.type === 'command') return judgeCommand(tool, access, policy);
  if (access.type === 'foreign')
    return [{ verdict: judgeForeign(tool, access.readOnly, policy), about: { type: 'tool' } }];
  if (access.type === 'web')
    return [{ verdict: judgeHost(tool, access.host, policy), about: { type: 'host', host: access.host } }];
  return [fileFinding(access, judgePath({ tool, file: access }, access.type, policy))];
}

/** A tool that touches nothing, such as a todo list. */
function judgeTool(tool: string, policy: Policy): Verdict {
  const rule = decidingRule({ tool }, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto') return ruleVerdict(rule, tool);
  return verdict('allow', 'It touches nothing.', rule);
}

/** A request can send data of the workspace in its address, so it needs approval in every mode but full access. */
function judgeHost(tool: string, host: string, policy: Policy): Verdict {
  const rule = decidingRule({ tool, host }, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto') return ruleVerdict(rule, host);
  if (policy.mode === 'full-access') return verdict('allow', 'Full access.');
  if (rule !== undefined) return verdict('allow', `A rule allows ${host}.`, rule);
  return verdict('ask', `It sends a request to ${host}, and no rule allows this host.`);
}

/** Whether a foreign tool only reads is a claim of its author, which is enough to deny it but not to trust it. */
function judgeForeign(tool: string, readOnly: boolean, policy: Policy): Verdict {
  const rule = decidingRule({ tool }, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto') return ruleVerdict(rule, tool);
  if (policy.mode === 'full-access') return verdict('allow', 'Full access.');
  if (policy.mode === 'read-only' && !readOnly)
    return verdict(
      'deny',
      `In read-only mode only tools that declare themselves read-only run, and ${tool} does not.`,
    );
  if (rule !== undefined) return verdict('allow', `A rule allows ${tool}.`, rule);
  return verdict('ask', `${tool} is not a tool of Polypod, and no rule allows it.`);
}
