import type { AccountTrial } from '../../../setup/index.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { explainFailure } from '../../output/explain-failure.ts';

/** Prints the result of a test and returns the exit code. */
export function reportTrial(
  { account, model, failure }: AccountTrial,
  json: boolean,
  { stdout, stderr }: CommandContext,
): ExitCode {
  const reference = `${account.name}/${model}`;
  if (json) {
    const error = failure && { kind: failure.kind, message: explainFailure(failure, account, model) };
    stdout.write(`${JSON.stringify({ account: account.name, model, ok: failure === undefined, error })}\n`);
  } else if (failure === undefined)
    stdout.write(`${sanitizeLine(account.name)} works: polypod ask -m ${sanitizeLine(reference)} "Hello"\n`);
  else stderr.write(`polypod accounts: ${explainFailure(failure, account, model)}\n`);
  if (failure === undefined) return EXIT.ok;
  return failure.kind === 'auth' || failure.kind === 'unknown-model' || failure.kind === 'invalid-request'
    ? EXIT.usage
    : EXIT.broken;
}
