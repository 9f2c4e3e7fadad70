import type { Attempt } from '../attempt.ts';

/** Every so many attempts, so that the family has attempts of all kinds. */
const EVERY = 12;

/**
 * Attempts of other families that run their command in the background: it must get no more rights there. The second call lets a
 * command that was started act before its effects are examined.
 */
export function inBackground(attempts: readonly Attempt[]): readonly Attempt[] {
  return attempts
    .flatMap((attempt): readonly Attempt[] => {
      const [call, ...others] = attempt.calls;
      if (call?.tool !== 'bash' || others.length > 0) return [];
      const { command } = call.arguments;
      return [
        {
          ...attempt,
          name: `in the background: ${attempt.name}`,
          calls: [
            { tool: 'bash', arguments: { command, background: true } },
            { tool: 'bash', arguments: { command: 'sleep 0.3', timeout: 5 } },
          ],
        },
      ];
    })
    .filter((_, index) => index % EVERY === 0);
}
