import { aboutFile, type Finding, judgeCommand } from './judge-command.ts';
import { judgePath } from './judge-path.ts';
import type { Call, Judged } from './judged.ts';
import { type Policy, ruled, type Verdict, verdict } from './policy.ts';
import { decidingRule } from './rule.ts';

/**
 * Whether a call may run: the one decision that every door uses. Every part of the call is judged on its own, and the
 * strictest verdict is the call's.
 */
export function judge(call: Call, policy: Policy): Verdict {
  const found = findings(call, policy);
  const verdicts = found.map((finding) => finding.verdict);
  const strictest =
    verdicts.find(({ decision }) => decision === 'deny') ??
    verdicts.find(({ decision }) => decision === 'ask') ??
    verdicts.find(({ rule }) => rule !== undefined) ??
    verdicts[0] ??
    verdict('allow', 'It touches nothing.');
  return strictest.decision === 'allow' ? { ...strictest, neutral: isNeutral(found) } : strictest;
}

/** Whether all programs of a call are allowed only because they read. */
function isNeutral(found: readonly Finding[]): boolean {
  const programs = found.filter(({ about }) => about.type === 'program' || about.type === 'text');
  return programs.length > 0 && programs.every(({ verdict: { neutral } }) => neutral === true);
}

/** What is to be said about each part of a call. */
export function findings(call: Call, policy: Policy): readonly Finding[] {
  if (call.access.length === 0) return [{ verdict: judgeTool(call.tool, policy), about: { type: 'tool' } }];
  return call.access.flatMap((access) => judgeAccess(call.tool, access, policy));
}

function judgeAccess(tool: string, access: Judged, policy: Policy): readonly Finding[] {
  if (access.type === 'command') return judgeCommand(tool, access, policy);
  if (access.type === 'foreign')
    return [{ verdict: judgeForeign(tool, access.readOnly, policy), about: { type: 'tool' } }];
  return [aboutFile(access, judgePath({ tool, file: access }, access.type, policy))];
}

/** A tool that touches nothing, such as a list of things to do. */
function judgeTool(tool: string, policy: Policy): Verdict {
  const rule = decidingRule({ tool }, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto') return ruled(rule, tool);
  return verdict('allow', 'It touches nothing.', rule);
}

/** Whether a foreign tool only reads is what its author says, which is enough to deny it and not to trust it. */
function judgeForeign(tool: string, readOnly: boolean, policy: Policy): Verdict {
  const rule = decidingRule({ tool }, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto') return ruled(rule, tool);
  if (policy.mode === 'full-access') return verdict('allow', 'Full access.');
  if (policy.mode === 'read-only' && !readOnly)
    return verdict(
      'deny',
      `In read-only mode only tools that declare themselves read-only run, and ${tool} does not.`,
    );
  if (rule !== undefined) return verdict('allow', `A rule allows ${tool}.`, rule);
  return verdict('ask', `${tool} is not a tool of Polypod, and no rule allows it.`);
}
