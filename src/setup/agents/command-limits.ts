import { type CommandLimiter, commandLimiter, DEFAULT_COMMAND_LIMITS } from '../../tools/index.ts';
import type { Config } from '../config/config.ts';

/** Creates a limiter with the configured limits and the defaults for the others. */
export function createCommandLimiter(
  { daemon }: Pick<Config, 'daemon'>,
  env: Readonly<Record<string, string>>,
): CommandLimiter {
  const { memory, processes, file_size: fileSize, open_files: openFiles, cpu } = daemon.commandLimits ?? {};
  const cpuSeconds = cpu === undefined ? undefined : Math.max(1, Math.ceil(cpu / 1_000));
  const configured = Object.entries({ memory, processes, fileSize, openFiles, cpuSeconds }).filter(
    ([, limit]) => limit !== undefined,
  );
  const all = Object.entries({ ...DEFAULT_COMMAND_LIMITS, ...Object.fromEntries(configured) });
  return commandLimiter({
    limits: Object.fromEntries(all.filter(([, limit]) => limit !== Number.POSITIVE_INFINITY)),
    isMemoryStated: memory !== undefined,
    env,
  });
}
